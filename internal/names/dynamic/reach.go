package dynamic

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
	s.leave(c)
	if len(c.come) > atOnce {
		s.table.realm.Expect(len(c.come))
	}
	for chunk := range slices.Chunk(c.come, atOnce) {
		s.come(chunk, c)
	}
	s.keep(c)
	s.count()
	if len(c.gone)+len(c.come) > 0 {
		s.Changed()
	}
	if !s.running {
		return
	}
	if len(c.come) > 0 {
		s.Pool().Registered(nil)
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
	var opened []*Host // for nobody
	for _, h := range hosts {
		why := err
		if why == nil {
			if _, why = s.table.realm.Put(h.entry.Zone, h.spec()); why != nil {
				opened = append(opened, h)
			}
		}
		if why != nil {
			s.table.remove(h, &changes{})
			c.refused = append(c.refused, refusal{fmt.Sprintf("%s at %s", h.Name, h.Address), why})
		}
	}
	s.close(opened)
}

func (o *Options) close(hosts []*Host) {
	if len(hosts) == 0 {
		return
	}
	if err := o.Plane().CloseServices(waysInto(hosts)); err != nil {
		o.Log.Error("services of hosts not closed", "hosts", len(hosts), "error", err)
	}
}

// leave takes hosts away, and ends who is with them, before anybody else has their names and addresses: nothing that was
// opened for one leads to the next (I9).
func (s *Service) leave(c *changes) {
	for _, h := range c.gone {
		s.table.realm.Remove(h.entry.Zone, h.Name)
	}
	if s.running && len(c.gone) > 0 {
		s.Reconsider()
	}
	s.close(c.gone)
	if s.running {
		s.forget(c.gone)
		return
	}
	// An earlier daemon may have been killed before the disk had it that somebody else is there.
	others := slices.Clone(c.gone)
	for _, h := range c.come {
		if !c.known && h.entry.keeps() {
			others = append(others, h)
		}
	}
	s.end(others)
	s.others = append(s.others, others...)
}

// forget has nothing lead to hosts that did.
func (s *Service) forget(hosts []*Host) {
	if len(hosts) > 0 {
		s.Pool().Registered(servicesOf(hosts))
		s.end(hosts)
	}
}

// end ends the sessions with hosts.
func (o *Options) end(hosts []*Host) {
	if len(hosts) == 0 {
		return
	}
	at := make(map[netip.Addr]bool, len(hosts))
	for _, h := range hosts {
		at[h.Address] = true
	}
	ended, err := o.Plane().EndSessions(func(session datapath.Session) bool {
		return at[session.Private.Addr()] && (session.IsLent() || session.Origin == "web")
	})
	if err != nil {
		o.Log.Error("sessions of hosts not ended", "hint", "end them by realmgate sessions", "error", err)
	}
	if ended > 0 {
		o.Log.Info("sessions of hosts ended", "hosts", len(hosts), "sessions", ended)
	}
}

// spec is what the host opens.
func (h *Host) spec() registry.HostSpec {
	spec := registry.HostSpec{Name: h.Name, Address: h.Address, Identity: h.identity(), Client: h.Client != ""}
	for _, s := range h.entry.Services {
		if s.Label == "" {
			spec.Open, spec.Web = s.Ports, s.Web
			continue
		}
		spec.Services = append(spec.Services, registry.ServiceSpec{Names: []model.Name{serviceName(s, h.Name)}, Ports: s.Ports, Web: s.Web})
	}
	return spec
}

// identity is who the host is, whatever it calls itself: the client of a lease, or whom an update says that the name is for
// (RFC 4701). "": nothing is known but its name.
func (h *Host) identity() string {
	clients := h.entry.clients[h.Name]
	if h.Client != "" {
		clients = []string{h.Client}
	}
	if len(clients) == 0 {
		return ""
	}
	return h.entry.key + " " + identifier(clients)
}

// identifier is the same for the same clients in any order, as records of DNS have none.
func identifier(clients []string) string {
	return strings.Join(slices.Sorted(slices.Values(clients)), " ")
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

// servicesOf are the names that services of hosts have, but for those that are of the host as before under the next
// configuration.
func servicesOf(hosts []*Host) (names []model.Name) {
	for _, h := range hosts {
		for _, s := range h.entry.Services {
			if h.next == nil || !slices.ContainsFunc(h.next.Services, s.Same) {
				names = append(names, serviceName(s, h.Name))
			}
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
