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
func (a *Allocator) contested(now model.Instant, b pool.Binding) bool {
	if a.wanted.at == 0 || now.Sub(a.wanted.at) > loadFor {
		a.wanted = wanted{at: now, ports: map[uint32]bool{}}
		for name, s := range a.services {
			if _, stands := a.pool.Standing(name); !stands {
				a.wanted.add(s.Ports)
			}
		}
	}
	return a.wanted.whole || slices.ContainsFunc(b.Service.Ports, func(p model.Port) bool {
		return p == model.Port{} || a.wanted.ports[p.Key()] || a.wanted.web && isWeb(p)
	})
}

func (w *wanted) add(ports []model.Port) {
	for _, p := range ports {
		w.ports[p.Key()] = true
		w.whole = w.whole || p == model.Port{}
		w.web = w.web || isWeb(p)
	}
}
