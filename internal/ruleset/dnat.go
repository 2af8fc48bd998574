package ruleset

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// mostDnatPorts bounds the ports of outbound addresses that dnat has.
const mostDnatPorts = 4096

// Dnat is what dnat takes: addresses of its own, and ports of outbound addresses.
type Dnat struct {
	Addresses []netip.Addr
	Ports     []datapath.Service
}

// Opens reports whether dnat opens ports of an address.
func (s Dnat) Opens(a netip.Addr) bool {
	return slices.Contains(s.Addresses, a) || slices.ContainsFunc(s.Ports, func(p datapath.Service) bool { return p.Host == a })
}

// DnatOf tells what the configuration's chains take from the outbound addresses,
// which the configuration may leave to the gateway. Those that have left their interfaces are
// nobody's: past tells them; nil: none has.
func DnatOf(c *config.Config, outbound []netip.Addr, past func(netip.Addr) bool) (s Dnat, err error) {
	for _, h := range c.Hosts {
		if h.OneToOne.IsValid() && slices.Contains(outbound, h.OneToOne) {
			return s, fmt.Errorf("hosts: %s has one_to_one %s, an outbound address, which hosts share: give it another", h.Name, h.OneToOne)
		}
	}
	ports := map[datapath.Service]bool{}
	for _, ch := range c.Chains {
		if !ch.Dnat {
			continue
		}
		for _, m := range ch.Matches {
			if err := s.add(c, ch.Name, m, outbound, past, ports); err != nil {
				return s, err
			}
		}
		for _, f := range ch.Functions {
			for _, to := range f.Targets() {
				if slices.Contains(outbound, to) {
					return s, fmt.Errorf("chain %s: %s to %s, an outbound address: name a private host", ch.Name, f.Use, to)
				}
			}
		}
	}
	if len(ports) > mostDnatPorts {
		return s, fmt.Errorf("chains: %d ports of outbound addresses for dnat, at most %d", len(ports), mostDnatPorts)
	}
	for p := range ports {
		s.Ports = append(s.Ports, p)
	}
	return s, nil
}

// add takes what a match of a chain names.
func (s *Dnat) add(c *config.Config, chain string, m settings.Match, outbound []netip.Addr, past func(netip.Addr) bool, ports map[datapath.Service]bool) error {
	for _, a := range m.DnatAddresses() {
		switch {
		case !slices.Contains(outbound, a) && past != nil && past(a):
		case !slices.Contains(outbound, a):
			if a == c.DNS.Public.Addr() {
				return fmt.Errorf("chain %s: %s is dns.public and no outbound address: dnat has outbound addresses, or its own", chain, a)
			}
			s.Addresses = append(s.Addresses, a)
		case m.Ports == model.Ports{} || m.Protocol != model.TCP && m.Protocol != model.UDP:
			return fmt.Errorf("chain %s: %s is an outbound address, which hosts share: name protocol (tcp or udp) and port", chain, a)
		default:
			for port := int(m.Ports.First); port <= int(m.Ports.Last); port++ {
				ports[datapath.Service{Host: a, Protocol: m.Protocol, Port: uint16(port)}] = true
			}
		}
	}
	return nil
}
