package gateway

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// lendsPorts reports whether an address is of the pool and outbound: services get ports of it, never
// the whole.
func (v *view) lendsPorts(a netip.Addr) bool {
	return slices.Contains(v.outbound, a) && slices.Contains(v.config.Pool.Addresses, a)
}

// inParts are the addresses of which services get ports.
func (v *view) inParts() (list []netip.Addr) {
	for _, a := range v.outbound {
		if slices.Contains(v.config.Pool.Addresses, a) {
			list = append(list, a)
		}
	}
	return list
}

// keptPorts are the ports that no mapping gets, as services may have them.
func (v *view) keptPorts() (list []datapath.Service) {
	for _, a := range v.inParts() {
		for _, s := range v.registry.Services() {
			for _, p := range s.Ports {
				if p.Port > 0 {
					list = append(list, datapath.Service{Host: a, Protocol: p.Protocol, Port: p.Port})
				}
			}
		}
	}
	return list
}

// opened are all that the data plane is to open, and the ports of outbound addresses that it keeps from
// mappings: also those that were a service's lately, whose clients may still come (I9).
func (g *Gateway) opened(v *view) []datapath.Service {
	list := v.services()
	for _, p := range g.pool.Places() {
		if !slices.Contains(v.outbound, p.Address) {
			continue
		}
		for _, port := range p.Service.Ports {
			if port.Port > 0 {
				list = append(list, datapath.Service{Host: p.Address, Protocol: port.Protocol, Port: port.Port})
			}
		}
	}
	return list
}

// never says why a service can never have a port of an address of which services get ports, "" where it can.
func (v *view) never(a netip.Addr, p model.Protocol, port uint16) string {
	where := a.String()
	if a.IsUnspecified() {
		where = v.config.Pool.Interfaces[0]
	}
	switch {
	case p == model.AnyProtocol:
		return fmt.Sprintf("everything of %s would take outbound connections away: open ports", where)
	case p == model.ICMP:
		return fmt.Sprintf("pings of %s, which is outbound, are the gateway's: leave icmp out", where)
	case netip.AddrPortFrom(a, port) == v.config.DNS.Public:
		return fmt.Sprintf("%s port %d of %s is where the name server listens", p, port, where)
	case slices.Contains(v.static.Ports, datapath.Service{Host: a, Protocol: p, Port: port}):
		return fmt.Sprintf("%s port %d of %s is sent on by dnat", p, port, where)
	}
	return ""
}

// whyNever says why a service has no place in the pool whatever else there is, "" where it may have one.
func (v *view) whyNever(s *registry.Service) (why string) {
	addresses := slices.Clone(v.config.Pool.Addresses)
	if len(v.config.Pool.Interfaces) > 0 {
		addresses = append(addresses, netip.IPv4Unspecified()) // whatever it will be
	}
	for _, a := range addresses {
		if !a.IsUnspecified() && !v.lendsPorts(a) {
			return ""
		}
		here := ""
		for _, p := range s.Ports {
			if here == "" {
				here = v.never(a, p.Protocol, p.Port)
			}
		}
		if here == "" {
			return ""
		}
		why = here
	}
	return why
}

// checkPlaces refuses names that the pool has no address for, ever.
func (v *view) checkPlaces() error {
	for _, s := range v.registry.Services() {
		if why := v.whyNever(s); why != "" {
			return fmt.Errorf("hosts: %s opens %s, and the pool has no address for that: %s, or give the pool an address that is not outbound",
				s.Name, portTexts(s.Ports), why)
		}
	}
	return nil
}

// blocked is invariant I3 for the pool: any port of an address of the machine's own may be a service of it, whose
// packets a loan would take away. Of an outbound address it is those ports alone that something else has.
func (g *Gateway) blocked(v *view, a netip.Addr, p model.Protocol, port uint16) bool {
	if !v.lendsPorts(a) {
		return g.isOwnAddress(a)
	}
	return v.never(a, p, port) != "" || g.listens(a, p, port) || g.isMapped(a, p, port)
}

func (g *Gateway) listens(a netip.Addr, p model.Protocol, port uint16) bool {
	return g.machine.Listens(p, netip.AddrPortFrom(a, port))
}

// isMapped reports whether a mapping has a port still, from before it was a service's.
func (g *Gateway) isMapped(a netip.Addr, p model.Protocol, port uint16) bool {
	_, mapped, err := g.data.MappedTo(p, netip.AddrPortFrom(a, port))
	return mapped || err != nil
}

// checkListening refuses services whose ports programs of the gateway have, where the pool has nothing else.
func (g *Gateway) checkListening(v *view) error {
	for _, s := range v.registry.Services() {
		if why := g.whyListening(v, s); why != "" {
			return fmt.Errorf("hosts: %s", why)
		}
	}
	return nil
}

func (g *Gateway) whyListening(v *view, s *registry.Service) (why string) {
	for _, a := range v.config.Pool.Addresses {
		if !v.lendsPorts(a) {
			return ""
		}
		i := slices.IndexFunc(s.Ports, func(p model.Port) bool { return g.listens(a, p.Protocol, p.Port) })
		if i < 0 {
			return ""
		}
		why = fmt.Sprintf("%s opens %s port %d, where a program of the gateway listens at %s: stop that, have it listen elsewhere, or give %s another port",
			s.Name, s.Ports[i].Protocol, s.Ports[i].Port, a, s.Name)
	}
	return why
}

// rivals says which services want the same port where the pool has an address for fewer: one host at a time has a port of
// an address.
func (v *view) rivals() (list []string) {
	addresses := v.inParts()
	if len(addresses) == 0 || len(addresses) < len(v.config.Pool.Addresses) {
		return nil
	}
	owners := map[string][]*registry.Service{}
	var order []string
	for _, s := range v.registry.Services() {
		for _, p := range s.Ports {
			port := portOrWeb(p)
			if !slices.ContainsFunc(owners[port], func(o *registry.Service) bool { return o.Owner == s.Owner }) {
				owners[port] = append(owners[port], s)
			}
			if !slices.Contains(order, port) {
				order = append(order, port)
			}
		}
	}
	for _, port := range order {
		if of := owners[port]; len(of) > len(addresses) {
			list = append(list, fmt.Sprintf("%s and %s%s both want %s, which one host at a time has of an address, and the pool has %d: the other is refused until "+
				"nobody has used it for pool.rest: give one another port, or the pool another address", of[0].Name, of[1].Name, more(len(of)-1), port, len(addresses)))
		}
	}
	return list
}

// portOrWeb is a port as the pool counts it: those of the web go together.
func portOrWeb(p model.Port) string {
	switch {
	case p.Protocol == model.TCP && (p.Port == 80 || p.Port == 443), p.Protocol == model.UDP && p.Port == 443:
		return "the web's ports (tcp 80 and 443, udp 443)"
	}
	return fmt.Sprintf("%s port %d", p.Protocol, p.Port)
}

func more(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

// partRemedies says which names have no place at an outbound address, and who has what they want.
func (g *Gateway) partRemedies(v *view) (list []string) {
	if len(v.inParts()) == 0 {
		return nil
	}
	for _, s := range v.registry.Services() {
		if at, stands := g.pool.Place(s.Name); !stands {
			list = append(list, g.whyWaits(v, s)...)
		} else if v.lendsPorts(at) {
			list = append(list, g.shadowed(s, at)...)
		}
	}
	return append(list, v.rivals()...)
}

// whyWaits says what has the ports of a service, as long as no other service has.
func (g *Gateway) whyWaits(v *view, s *registry.Service) []string {
	if why := g.whyListening(v, s); why != "" {
		return []string{why + "; until then the name is not answered"}
	}
	for _, a := range v.inParts() {
		for _, p := range s.Ports {
			if host, mapped, err := g.data.MappedTo(p.Protocol, netip.AddrPortFrom(a, p.Port)); mapped && err == nil {
				return []string{fmt.Sprintf("%s waits for %s port %d of %s, by which %s has gone out since before it was a service's: to end that: realmgate sessions end --address %s",
					s.Name, p.Protocol, p.Port, a, host.Addr(), host.Addr())}
			}
		}
	}
	return nil
}

// shadowed says which ports of a service a program of the gateway has taken since.
func (g *Gateway) shadowed(s *registry.Service, at netip.Addr) (list []string) {
	for _, p := range s.Ports {
		if g.listens(at, p.Protocol, p.Port) {
			list = append(list, fmt.Sprintf("a program of the gateway listens at %s port %d of %s and gets what is for %s: stop it, or have it listen elsewhere",
				p.Protocol, p.Port, at, s.Name))
		}
	}
	return list
}

// partsOf is what can be said of a configuration before it runs.
func partsOf(c *config.Config, outbound []netip.Addr, r *registry.Registry) *view {
	if c.Outbound.Follows() && slices.Contains(c.Pool.Addresses, c.DNS.Public.Addr()) {
		outbound = append(slices.Clone(outbound), c.DNS.Public.Addr()) // it is of the interface then, or the gateway says that it is not
	}
	v := &view{config: c, registry: r, outbound: outbound}
	v.static, _ = ruleset.StaticOf(c, outbound, nothingPast) // its error is told elsewhere
	return v
}
