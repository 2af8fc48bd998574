package allocation

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// wanted are the ports of services that have no place: whoever keeps one of them keeps it from somebody.
type wanted struct {
	at         model.Instant // when it was looked, 0 for never
	ports      map[uint32]bool
	web, whole bool
}

// webPorts belong to one owner of an address together.
var webPorts = []uint32{
	model.Port{Protocol: model.TCP, Port: 80}.Key(), model.Port{Protocol: model.TCP, Port: 443}.Key(), model.Port{Protocol: model.UDP, Port: 443}.Key(),
}

func isWeb(p model.Port) bool { return slices.Contains(webPorts, p.Key()) }

// contested reports whether a service without a place could have that of a binding. Of one address many services have
// ports, and most are in nobody's way.
func (st *state) contested(now model.Instant, b pool.Binding) bool {
	if st.wanted.at == 0 || now.Sub(st.wanted.at) > loadFor {
		st.wanted = wanted{at: now, ports: map[uint32]bool{}}
		for name, s := range st.services {
			if _, stands := st.pool.Standing(name); !stands {
				st.wanted.add(s.Ports)
			}
		}
	}
	return st.wanted.whole || slices.ContainsFunc(b.Service.Ports, func(p model.Port) bool {
		return p == model.Port{} || st.wanted.ports[p.Key()] || st.wanted.web && isWeb(p)
	})
}

func (w *wanted) add(ports []model.Port) {
	for _, p := range ports {
		w.ports[p.Key()] = true
		w.whole = w.whole || p == model.Port{}
		w.web = w.web || isWeb(p)
	}
}
