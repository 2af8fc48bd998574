package shared

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Addresses are the shared ones of a configuration.
type Addresses struct {
	Config   *config.Config // with the pool's addresses of now
	Registry *registry.Registry
	Outbound []netip.Addr       // of now
	Dnat     []datapath.Service // ports of outbound addresses that dnat has
}

// Before are those of a configuration before it runs, as far as outbound addresses are known by then.
func Before(c *config.Config, r *registry.Registry, outbound []netip.Addr) Addresses {
	if c.Outbound.Follows() && slices.Contains(c.Pool.Addresses, c.DNS.Public.Addr()) {
		outbound = append(slices.Clone(outbound), c.DNS.Public.Addr()) // it is of the interface then, or the gateway says that it is not
	}
	dnat, _ := ruleset.DnatOf(c, outbound, nil) // its error is told elsewhere
	return Addresses{Config: c, Registry: r, Outbound: outbound, Dnat: dnat.Ports}
}

// Lends reports whether an address is of the pool and outbound: services get ports of it, never
// the whole.
func (s Addresses) Lends(a netip.Addr) bool {
	return slices.Contains(s.Outbound, a) && slices.Contains(s.Config.Pool.Addresses, a)
}

// reads reports whether names are read at an address that is outbound, too: the web has its ports there, and no more.
func (s Addresses) reads(a netip.Addr) bool {
	return slices.Contains(s.Outbound, a) && slices.Contains(s.Config.Web.Addresses, a)
}

// List is all of them.
func (s Addresses) List() (list []netip.Addr) {
	for _, a := range s.Outbound {
		if slices.Contains(s.Config.Pool.Addresses, a) {
			list = append(list, a)
		}
	}
	return list
}

// Kept are the ports that no mapping gets, as services may have them, those of hosts that come and go too, the web, or other edges.
func (s Addresses) Kept() (list []datapath.Service) {
	for _, a := range s.List() {
		for _, service := range s.Registry.Lendable() {
			list = append(list, portsOf(a, service.Ports)...)
		}
		for _, e := range s.Config.Dynamic {
			for _, service := range e.Lent() {
				list = append(list, portsOf(a, service.Ports)...)
			}
		}
	}
	if e := s.Config.Edges; e.Given() {
		list = append(list, portsOf(e.Listen.Addr(), e.Ports())...)
	}
	return append(list, s.WebPorts()...)
}

func portsOf(a netip.Addr, ports []model.Port) (list []datapath.Service) {
	for _, p := range ports {
		if p.Port > 0 {
			list = append(list, datapath.Service{Host: a, Protocol: p.Protocol, Port: p.Port})
		}
	}
	return list
}

// Ways are what sessions from the pool and from web addresses may reach, each by one port.
func Ways(into []*registry.Service) (list []datapath.Service) {
	for _, s := range into {
		for _, p := range s.Ports {
			list = append(list, datapath.Service{Host: s.Host, Port: p.To, Protocol: p.Protocol})
		}
	}
	return list
}

// never says why a service can never have a port of an address of which services get ports, "" where it can.
func (s Addresses) never(a netip.Addr, p model.Protocol, port uint16) string {
	where := a.String()
	if a.IsUnspecified() {
		where = s.Config.Pool.Interfaces[0]
	}
	switch {
	case p == model.AnyProtocol:
		return fmt.Sprintf("everything of %s would take outbound connections away: open ports", where)
	case p == model.ICMP:
		return fmt.Sprintf("pings of %s, which is outbound, are the gateway's: leave icmp out", where)
	case netip.AddrPortFrom(a, port) == s.Config.DNS.Public:
		return fmt.Sprintf("%s port %d of %s is where the name server listens", p, port, where)
	case slices.Contains(s.webPorts(a), datapath.Service{Host: a, Protocol: p, Port: port}):
		return fmt.Sprintf("%s port %d of %s is where names of the web are read: give ports of the web a name of their own (udp/443 is one with web.quic)", p, port, where)
	case slices.Contains(s.Dnat, datapath.Service{Host: a, Protocol: p, Port: port}):
		return fmt.Sprintf("%s port %d of %s is sent on by dnat", p, port, where)
	}
	return ""
}

// whyNever says why a service has no place at addresses of which services get ports, "" where it may have one.
func (s Addresses) whyNever(ports []model.Port, addresses []netip.Addr) (why string) {
	for _, a := range addresses {
		here := ""
		for _, p := range ports {
			if here == "" {
				here = s.never(a, p.Protocol, p.Port)
			}
		}
		if here == "" {
			return ""
		}
		why = here
	}
	return why
}

// Check refuses names that the pool has no address for, ever, and ports of the web that are something else's.
func (s Addresses) Check() error {
	if err := s.checkWeb(); err != nil {
		return err
	}
	if slices.ContainsFunc(s.Config.Pool.Addresses, func(a netip.Addr) bool { return !slices.Contains(s.Outbound, a) }) {
		return nil // that one is lent whole
	}
	addresses := slices.Clone(s.Config.Pool.Addresses)
	if len(s.Config.Pool.Interfaces) > 0 {
		addresses = append(addresses, netip.IPv4Unspecified()) // whatever it will be
	}
	for _, service := range s.Registry.Lendable() {
		if why := s.whyNever(service.Ports, addresses); why != "" {
			return fmt.Errorf("hosts: %s opens %s, and the pool has no address for that: %s, or give the pool an address that is not outbound",
				service.Name, strings.Join(model.PortTexts(service.Ports), ", "), why)
		}
	}
	for _, e := range s.Config.Dynamic {
		for _, service := range e.Lent() {
			if why := s.whyNever(service.Ports, addresses); why != "" {
				return fmt.Errorf("dynamic: hosts of %s open %s, and the pool has no address for that: %s, or give the pool an address that is not outbound",
					e.Zone, strings.Join(model.PortTexts(service.Ports), ", "), why)
			}
		}
	}
	return nil
}

// Rivals says which services want the same port where the pool has an address for fewer: one host at a time has a port of
// an address.
func (s Addresses) Rivals() (list []string) {
	addresses := s.List()
	if len(addresses) == 0 || len(addresses) < len(s.Config.Pool.Addresses) {
		return nil
	}
	type demand struct {
		port  string
		owner model.Name
	}
	wanted := map[demand]bool{}
	owners := map[string][]*registry.Service{} // one service of each
	var order []string
	for _, service := range s.Registry.Lendable() {
		for _, p := range service.Ports {
			port := portOrWeb(p)
			if wanted[demand{port, service.Owner}] {
				continue
			}
			wanted[demand{port, service.Owner}] = true
			if owners[port] == nil {
				order = append(order, port)
			}
			owners[port] = append(owners[port], service)
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

// onInterfaces are the pool addresses that the machine has itself, and that are not lent by ports: they are never lent.
func (s Addresses) onInterfaces(own map[netip.Addr]bool) (found []netip.Addr) {
	for _, a := range s.Config.Pool.Addresses {
		if own[a] && !s.Lends(a) {
			found = append(found, a)
		}
	}
	return found
}

// OwnWarnings says that pool addresses are never lent, as they are the machine's own.
func (s Addresses) OwnWarnings(own map[netip.Addr]bool) []string {
	found := s.onInterfaces(own)
	if len(found) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of the pool stands on an interface (%d such) and is not lent: take it off the interface, or out of pool.addresses", found[0], len(found))}
}
