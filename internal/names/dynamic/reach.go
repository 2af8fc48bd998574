package dynamic

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/registry"
)

// atOnce is how many hosts come in one piece.
const atOnce = 4096

// apply puts changes into force, keeps them, and tells of them.
func (s *Service) apply(c *changes) {
	s.leave(c.gone)
	if len(c.come) > atOnce {
		s.table.realm.Expect(len(c.come))
	}
	for chunk := range slices.Chunk(c.come, atOnce) {
		s.come(chunk, c)
	}
	s.keep(c)
	s.count()
	if !s.running {
		return
	}
	if len(c.come)+len(c.gone) > 0 {
		s.Pool().Registered(servicesOf(c.gone))
	}
	for _, h := range c.gone {
		s.tell(h, event.HostEnded{Host: h.Name.String(), Address: h.Address, Source: h.entry.Source.String()})
	}
	for _, h := range c.come {
		if s.table.named(h.Name) == h {
			s.tell(h, event.HostRegistered{Host: h.Name.String(), Address: h.Address, Source: h.entry.Source.String(), Until: h.Ends})
		}
	}
}

// come makes hosts reachable, before anybody is told of them. Those that cannot be are refused.
func (s *Service) come(hosts []*Host, c *changes) {
	err := s.Plane().OpenServices(waysInto(hosts))
	for _, h := range hosts {
		why := err
		if why == nil {
			_, why = s.table.realm.Put(h.entry.Zone, h.spec())
		}
		if why != nil {
			s.table.remove(h, &changes{})
			c.refused = append(c.refused, refusal{fmt.Sprintf("%s at %s", h.Name, h.Address), why})
		}
	}
}

// leave takes hosts away, and ends who is with them: their addresses may be others' next.
func (s *Service) leave(hosts []*Host) {
	if len(hosts) == 0 {
		return
	}
	at := make(map[netip.Addr]bool, len(hosts))
	for _, h := range hosts {
		s.table.realm.Remove(h.entry.Zone, h.Name)
		at[h.Address] = true
	}
	if err := s.Plane().CloseServices(waysInto(hosts)); err != nil {
		s.Log.Error("services of hosts not closed", "hosts", len(hosts), "error", err)
	}
	if !s.running {
		return // sessions of an earlier daemon are judged again, when the policy is there
	}
	ended, err := s.Plane().EndSessions(func(session datapath.Session) bool {
		return at[session.Private.Addr()] && (session.IsLent() || session.Origin == "web")
	})
	if err != nil {
		s.Log.Error("sessions of hosts not ended", "hint", "end them by realmgate sessions", "error", err)
	}
	if ended > 0 {
		s.Log.Info("sessions of hosts ended", "hosts", len(hosts), "sessions", ended)
	}
}

// spec is what the host opens.
func (h *Host) spec() registry.HostSpec {
	spec := registry.HostSpec{Name: h.Name, Address: h.Address}
	for _, s := range h.entry.Services {
		if s.Label == "" {
			spec.Open = s.Ports
			continue
		}
		spec.Services = append(spec.Services, registry.ServiceSpec{Names: []model.Name{serviceName(s, h.Name)}, Ports: s.Ports})
	}
	return spec
}

// waysInto are what sessions may reach of hosts.
func waysInto(hosts []*Host) (list []datapath.Service) {
	for _, h := range hosts {
		for _, s := range h.entry.Services {
			for _, p := range s.Ports {
				list = append(list, datapath.Service{Host: h.Address, Port: p.To, Protocol: p.Protocol})
			}
		}
	}
	return list
}

// servicesOf are the names that services of hosts may have.
func servicesOf(hosts []*Host) (names []model.Name) {
	for _, h := range hosts {
		for _, s := range h.entry.Services {
			names = append(names, serviceName(s, h.Name))
		}
	}
	return names
}

// tell tells of a host, but not of those of a file of hosts: they are many, and who writes the file knows them.
func (s *Service) tell(h *Host, e event.Event) {
	if h.entry.Source != settings.Listed {
		s.Events.Emit(e)
	}
}
