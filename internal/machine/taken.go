package machine

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// Taken says which programs, as were seen last, listen at addresses where the gateway has to, which is the key's. It knows
// itself by its name.
func (m *Machine) Taken(key string, at netip.AddrPort, self string) (list []string) {
	for _, p := range []model.Protocol{model.UDP, model.TCP} {
		if !m.Listens(p, at) {
			continue
		}
		who := cmp.Or(m.Program(p, at), "a program")
		if strings.HasPrefix(who, self+" (") {
			continue
		}
		list = append(list, fmt.Sprintf("%s listens at %s %s, where %s has to: end it, or have it listen at another address", who, p, at, key))
	}
	return list
}
