package diagnose

import (
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// Doubts are about the configuration alone.
func (s *Setup) Doubts() []string {
	if !s.ForwardIPv6 {
		return nil
	}
	return []string{"ipv6: forward keeps no sessions: whoever knows the global IPv6 address of a host reaches its every port from outside: " +
		"have the hosts' own firewalls close them, deny with protection what must not come in, or set ipv6: drop"}
}

// Compare says where setup and facts do not fit.
func (s *Setup) Compare(f *Facts) []string {
	return slices.Concat(s.Links(f), s.Addresses(f), s.Lost(f))
}

// Missing warns of interfaces that are not on this machine, as a name that is mistyped, where others are.
func (s *Setup) Missing(f *Facts) (list []string) {
	if len(f.Interfaces) == 0 {
		return nil
	}
	for _, use := range []struct {
		key   string
		names []string
	}{{"interfaces.public", s.Public}, {"interfaces.private", s.Private}, {"outbound.addresses", s.Followed}} {
		for _, name := range use.names {
			if slices.Contains(f.Missing, name) {
				list = append(list, fmt.Sprintf("%s: interface %s is not on this machine: correct the name, or have the interface there before the start", use.key, name))
			}
		}
	}
	return list
}

// Links warns of interfaces that are not as they have to be.
func (s *Setup) Links(f *Facts) (list []string) {
	for _, i := range f.Interfaces {
		switch {
		case !i.Ethernet && !i.Bare:
			list = append(list, fmt.Sprintf("interface %s is neither Ethernet nor a tunnel: its packets are not understood, and dropped", i.Name))
		case i.Master != "":
			list = append(list, fmt.Sprintf("interface %s is a port of %s, which has its packets and the addresses: list %[2]s instead", i.Name, i.Master))
		case !i.Up:
			list = append(list, fmt.Sprintf("interface %s is down: ip link set %s up", i.Name, i.Name))
		}
	}
	return list
}

// Addresses warns of those that are not whose they have to be.
func (s *Setup) Addresses(f *Facts) []string { return slices.Concat(s.foreign(f), s.ownAddresses(f)) }

// foreign warns of those that are lent or translated to, and are somebody else's.
func (s *Setup) foreign(f *Facts) (list []string) {
	for _, use := range []struct {
		key       string
		addresses []netip.Addr
	}{{"pool.addresses", s.Pool}, {"outbound.addresses", s.Outbound}, {"hosts[].one_to_one", s.OneToOne}, {"web.addresses", s.Web}} {
		found := map[string][]netip.Addr{} // by what is wrong, then in the order of the configuration
		var kinds []string
		note := func(kind string, a netip.Addr) {
			if found[kind] == nil {
				kinds = append(kinds, kind)
			}
			found[kind] = append(found[kind], a)
		}
		for _, a := range use.addresses {
			if f.Own[a] {
				continue // said elsewhere
			}
			if what := f.belongs(a, s.Private); what != "" {
				note(what, a)
			}
		}
		for _, what := range kinds {
			a := found[what]
			list = append(list, fmt.Sprintf("%s of %s%s %s: take it out of %s", a[0], use.key, others(len(a)), what, use.key))
		}
	}
	return list
}

// belongs says whose an address is that is lent or translated to outside, "" for ours.
func (f *Facts) belongs(a netip.Addr, private []string) string {
	if f.Hops[a] {
		return "is the next hop of a route, a router's"
	}
	for _, i := range f.Interfaces {
		for _, network := range i.Prefixes {
			if network = network.Masked(); network.Bits() >= 31 { // RFC 3021
				continue
			}
			switch a {
			case network.Addr():
				return fmt.Sprintf("is the network %s on %s itself", network, i.Name)
			case netipx.PrefixLastIP(network): // broadcast
				return fmt.Sprintf("is the broadcast address of %s on %s", network, i.Name)
			}
		}
	}
	if i, network := f.narrowest(a); slices.Contains(private, i.Name) {
		return fmt.Sprintf("is in the network %s of %s, which is inside", network, i.Name)
	}
	if n, ok := f.InUse[a]; ok {
		return fmt.Sprintf("is in use by a neighbour on %s (%s answers ARP for it), who gets its packets", n.Interface, n.MAC)
	}
	return ""
}

// narrowest is the interface with the longest prefix that holds the address, where there is one.
func (f *Facts) narrowest(a netip.Addr) (narrowest Interface, network netip.Prefix) {
	for _, i := range f.Interfaces {
		for _, p := range i.Prefixes {
			if p.Contains(a) && (!network.IsValid() || p.Bits() > network.Bits()) {
				narrowest, network = i, p.Masked()
			}
		}
	}
	return narrowest, network
}

// ownAddresses warns of what should stand on an interface and does not, or the other way round.
func (s *Setup) ownAddresses(f *Facts) (list []string) {
	for _, a := range s.OneToOne {
		if f.Own[a] {
			list = append(list, fmt.Sprintf("%s of hosts[].one_to_one stands on an interface of the gateway, and the host gets all that comes for it, ssh to the gateway too: take it off the interface", a))
		}
	}
	for _, a := range s.Web {
		if f.Own[a] && !slices.Contains(s.Outbound, a) {
			list = append(list, fmt.Sprintf("%s of web.addresses stands on an interface of the gateway, and is not outbound: list it under outbound.addresses, too, or take it off the interface", a))
		}
	}
	for _, t := range f.Tunnels {
		if slices.Contains(s.Outbound, t.Local) {
			list = append(list, fmt.Sprintf("tunnel %s begins at %s, which hosts share, and who of them sends to its other end by its protocol takes it: give it an address of the gateway alone", t.Name, t.Local))
		}
	}
	if s.Nameserver.IsValid() && !s.Nameserver.IsUnspecified() && !f.Own[s.Nameserver] {
		list = append(list, fmt.Sprintf("dns.public: %s is on no interface, so nobody outside can ask for names: put it on %s", s.Nameserver, s.Public[0]))
	}
	return list
}

// Lost warns of hosts that no packet gets to, unless they may be behind an interface that is missing.
func (s *Setup) Lost(f *Facts) []string {
	if slices.ContainsFunc(f.Missing, func(name string) bool { return slices.Contains(s.Private, name) }) {
		return nil
	}
	var lost []Host
	for _, h := range s.Hosts {
		if _, ok := f.network(s.Private, h.Address); ok {
			continue
		}
		if way, asked := f.Ways[h.Address]; asked && !slices.Contains(s.Private, way) {
			lost = append(lost, h)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	way := "nowhere"
	if by := f.Ways[lost[0].Address]; by != "" {
		way = "by " + by
	}
	return []string{fmt.Sprintf("host %s%s: %s is in no network of a private interface, nor has it a route by one (packets go %s): correct the address, or add a network or route",
		lost[0].Name, others(len(lost)), lost[0].Address, way)}
}

// Vanished warns of interfaces that are not there any more.
func Vanished(names []string) (warnings []string) {
	for _, name := range names {
		warnings = append(warnings, fmt.Sprintf("interface %s has vanished: nothing passes there until it is back", name))
	}
	return warnings
}
