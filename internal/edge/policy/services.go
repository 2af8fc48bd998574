package policy

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// MostServices is how many ports one pact has room for (PACT_SERVICES); ICMP needs none, and all need none.
const MostServices = 4

// Services are ports as the outside connects to them: all, or those of the list. The zero value is none.
type Services struct {
	All  bool
	List []model.Port // sorted, each once, To the same as Port; empty with All
}

// ServicesOf are the services that ports open. Where they lead on the host is the host's own affair and left out.
func ServicesOf(ports []model.Port) Services {
	list := make([]model.Port, 0, len(ports))
	for _, p := range ports {
		if p == (model.Port{}) {
			return Services{All: true}
		}
		list = append(list, model.Port{Protocol: p.Protocol, Port: p.Port, To: p.Port})
	}
	slices.SortFunc(list, byKey)
	return Services{List: slices.Compact(list)}
}

// ParseServices reads what Texts wrote; false where a text is none of a service, or a range. No text at all is all.
func ParseServices(texts []string) (Services, bool) {
	ports := make([]model.Port, 0, len(texts))
	for _, text := range texts {
		port, err := model.ParsePort(text)
		if err != nil || port.To != port.Port {
			return Services{}, false
		}
		ports = append(ports, port)
	}
	if len(texts) == 0 {
		return Services{All: true}, true
	}
	return ServicesOf(ports), true
}

// Texts writes each service by itself, as messages have them, and all as none: model.PortTexts would write ranges.
func (s Services) Texts() (texts []string) {
	for _, p := range s.List {
		texts = append(texts, p.String())
	}
	return texts
}

// None reports whether nothing is open.
func (s Services) None() bool { return !s.All && len(s.List) == 0 }

// Has reports whether a protocol and port of the outside is open.
func (s Services) Has(protocol model.Protocol, port uint16) bool {
	_, found := slices.BinarySearchFunc(s.List, model.Port{Protocol: protocol, Port: port}, byKey)
	return s.All || found
}

// Both are the services that are in s and in o.
func (s Services) Both(o Services) Services {
	if s.All {
		return o
	}
	var list []model.Port
	for _, p := range s.List {
		if o.Has(p.Protocol, p.Port) {
			list = append(list, p)
		}
	}
	return Services{List: list}
}

// Within reports whether all services of s are in o.
func (s Services) Within(o Services) bool {
	if s.All || o.All {
		return o.All
	}
	return !slices.ContainsFunc(s.List, func(p model.Port) bool { return !o.Has(p.Protocol, p.Port) })
}

// TooMany reports whether a pact has no room for them.
func (s Services) TooMany() bool {
	count := 0
	for _, p := range s.List {
		if p.Protocol != model.ICMP {
			count++
		}
	}
	return count > MostServices
}
