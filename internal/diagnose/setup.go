package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
)

// Setup is what a configuration wants of the machine.
type Setup struct {
	Public, Private []string   // interfaces
	Nameserver      netip.Addr // where the public name server listens
	Pool            []netip.Addr
	Outbound        []netip.Addr
	OneToOne        []netip.Addr
	Web             []netip.Addr
	Followed        []string // interfaces whose addresses are outbound, too
	Hosts           []Host
	ForwardIPv6     bool
}

// Host is somebody in the private realm.
type Host struct {
	Name    string
	Address netip.Addr
}

// Facts are what the machine says.
type Facts struct {
	Interfaces []Interface         // those of the setup that exist, in its order
	Missing    []string            // those that do not
	Own        map[netip.Addr]bool // all addresses of the machine
	Hops       map[netip.Addr]bool // next hops of its routes
	// Ways are the interfaces by which the kernel sends to hosts that are in no
	// network of a private interface, "" where it cannot.
	Ways    map[netip.Addr]string
	Tunnels []Tunnel // the machine's own, of protocols without ports
	// InUse are addresses that a neighbour has.
	InUse map[netip.Addr]Neighbour
}

// Interface is one of the setup's.
type Interface struct {
	Name     string
	Index    int
	Kind     string         // as ip -d link has it: device, veth, bridge, …
	Up       bool           // somebody set it up
	Carrier  bool           // and it can carry packets
	Ethernet bool           // or
	Bare     bool           // it has no link addresses; else its packets are not understood
	Master   string         // the bridge or bond that it is a port of
	MAC      string         // as net.HardwareAddr has it
	Prefixes []netip.Prefix // its IPv4 addresses with their networks
}

// Tunnel is an interface whose packets travel in others, from the machine's address Local.
type Tunnel struct {
	Name  string
	Local netip.Addr
}

// Neighbour is somebody on a link.
type Neighbour struct{ Interface, MAC string }

// IsHere is whether the setup is for this machine, as far as its interfaces tell: each side has one.
func (s *Setup) IsHere(f *Facts) bool {
	there := func(name string) bool { return !slices.Contains(f.Missing, name) }
	return slices.ContainsFunc(s.Public, there) && slices.ContainsFunc(s.Private, there)
}

// network returns the interface of those named that has a network with the address.
func (f *Facts) network(names []string, a netip.Addr) (Interface, bool) {
	for _, i := range f.Interfaces {
		if slices.Contains(names, i.Name) && slices.ContainsFunc(i.Prefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return i, true
		}
	}
	return Interface{}, false
}

// others continues a line about the first of n.
func others(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}
