package ability

import (
	"iter"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// cover is that a certificate of one host covers a name of another.
type cover struct {
	of, other model.Name // the hosts
	name      model.Name // of other, as the configuration has it
}

// answerers say which host answers for a name.
type answerers struct {
	exact map[model.Name]model.Name   // without wildcards
	wild  map[model.Name]model.Name   // by what the wildcard is below
	below map[model.Name][]model.Name // the exact names right below a name
}

func newAnswerers(hosts []Host) answerers {
	a := answerers{map[model.Name]model.Name{}, map[model.Name]model.Name{}, map[model.Name][]model.Name{}}
	for i := range hosts {
		for _, name := range hosts[i].secure() {
			if rest, is := strings.CutPrefix(string(name), "*."); is {
				a.wild[model.Name(rest)] = hosts[i].Name
				continue
			}
			a.exact[name] = hosts[i].Name
			up := parent(name)
			a.below[up] = append(a.below[up], name)
		}
	}
	return a
}

func parent(n model.Name) model.Name {
	_, rest, _ := strings.Cut(string(n), ".")
	return model.Name(rest)
}

// wildcard is the closest one that answers for names below up, and whose it is.
func (a answerers) wildcard(up model.Name) (name, host model.Name, found bool) {
	for ; up != ""; up = parent(up) {
		if host, found = a.wild[up]; found {
			return "*." + up, host, true
		}
	}
	return "", "", false
}

// covered are the names of others that a name in a certificate of host stands for. A wildcard there stands for one label
// (RFC 9525 section 6.3), one of the configuration for any number. That a name in between exists, and so no wildcard answers
// below it, is not looked at: hosts are then apart that need not be.
func (a answerers) covered(host, in model.Name) iter.Seq[cover] {
	return func(yield func(cover) bool) {
		more := func(name, owner model.Name, found bool) bool {
			return !found || owner == host || yield(cover{host, owner, name})
		}
		below, isWild := strings.CutPrefix(string(in), "*.")
		if !isWild {
			if owner, found := a.exact[in]; found {
				more(in, owner, true)
			} else {
				more(a.wildcard(parent(in)))
			}
			return
		}
		for _, name := range a.below[model.Name(below)] {
			if !more(name, a.exact[name], true) {
				return
			}
		}
		more(a.wildcard(model.Name(below)))
	}
}

// parseCertificateName reads a name of a certificate; what is no name of a host or a wildcard of one is left out. So no
// character is in one that nobody expects.
func parseCertificateName(text string) (model.Name, bool) {
	rest, isWild := strings.CutPrefix(text, "*.")
	name, err := model.ParseName(rest)
	if err != nil {
		return "", false
	}
	if isWild {
		return "*." + name, true
	}
	return name, true
}
