package edge

import (
	"strings"

	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// owned are the zones that peers are asked for, and those within them that they are not. It is read without a lock: every question of
// a host is looked up in it. The zero value has none.
type owned map[model.Name]bool

// ownedOf is what a configuration asks peers for.
func ownedOf(c settings.Edges) owned {
	o := owned{}
	for _, p := range c.Peers {
		for _, z := range p.Zones {
			o[z] = true
		}
	}
	for _, z := range c.Except {
		o[z] = false
	}
	for _, z := range c.Realm {
		o[z] = false
	}
	return o
}

// has reports whether a name is in a zone of a peer, and in none that is not asked for.
func (o owned) has(name model.Name) (found bool) {
	for rest := string(name); rest != ""; {
		ours, listed := o[model.Name(rest)]
		if listed && !ours {
			return false
		}
		found = found || listed
		_, rest, _ = strings.Cut(rest, ".")
	}
	return found
}
