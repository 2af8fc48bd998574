package gateway

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// mostStaticPorts bounds the ports of outbound addresses that dnat has.
const mostStaticPorts = 4096

// static is what dnat takes: addresses of its own, and ports of outbound addresses.
type static struct {
	addresses []netip.Addr
	ports     []datapath.Service
}

// staticOf tells what the configuration's chains take from the outbound addresses,
// which the configuration may leave to the gateway.
func staticOf(c *config.Config, outbound []netip.Addr) (s static, err error) {
	ports := map[datapath.Service]bool{}
	for _, ch := range c.Chains {
		if !ch.Static {
			continue
		}
		for _, a := range ch.Match.StaticAddresses() {
			switch {
			case !slices.Contains(outbound, a):
				if a == c.DNS.Public.Addr() {
					return s, fmt.Errorf("chain %s: %s is dns.public and no outbound address: dnat has outbound addresses, or its own", ch.Name, a)
				}
				s.addresses = append(s.addresses, a)
			case ch.Match.Ports == model.Ports{} || ch.Match.Protocol != model.TCP && ch.Match.Protocol != model.UDP:
				return s, fmt.Errorf("chain %s: %s is an outbound address, which hosts share: name protocol (tcp or udp) and port", ch.Name, a)
			default:
				for port := int(ch.Match.Ports.First); port <= int(ch.Match.Ports.Last); port++ {
					ports[datapath.Service{Host: a, Protocol: ch.Match.Protocol, Port: uint16(port)}] = true
				}
			}
		}
		for _, f := range ch.Functions {
			if f.Use == config.UseDnat && slices.Contains(outbound, f.Dnat.To) {
				return s, fmt.Errorf("chain %s: dnat to %s, an outbound address: name a private host", ch.Name, f.Dnat.To)
			}
		}
	}
	if len(ports) > mostStaticPorts {
		return s, fmt.Errorf("chains: %d ports of outbound addresses for dnat, at most %d", len(ports), mostStaticPorts)
	}
	for p := range ports {
		s.ports = append(s.ports, p)
	}
	return s, nil
}
