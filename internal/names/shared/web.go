package shared

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// WebPorts are the ports of outbound addresses at which names of the web are read. They are taken from all else: from
// mappings, and from programs of the gateway.
func (s Addresses) WebPorts() (list []datapath.Service) {
	for _, a := range s.Config.Web.Addresses {
		if s.reads(a) {
			list = append(list, s.portsAt(a)...)
		}
	}
	return list
}

// AllWebPorts are those of all web addresses, whatever else they are.
func (s Addresses) AllWebPorts() (list []datapath.Service) {
	for _, a := range s.Config.Web.Addresses {
		list = append(list, s.portsAt(a)...)
	}
	return list
}

// webPorts are those of an address; of an unspecified one, which stands for an interface's, those of that.
func (s Addresses) webPorts(a netip.Addr) []datapath.Service {
	if s.reads(a) || a.IsUnspecified() && len(s.Config.Web.Interfaces) > 0 {
		return s.portsAt(a)
	}
	return nil
}

func (s Addresses) portsAt(a netip.Addr) (list []datapath.Service) {
	tcp, udp := s.Config.WebPorts()
	for _, port := range tcp {
		list = append(list, datapath.Service{Host: a, Protocol: model.TCP, Port: port})
	}
	for _, port := range udp {
		list = append(list, datapath.Service{Host: a, Protocol: model.UDP, Port: port})
	}
	return list
}

// checkWeb refuses web addresses that the pool lends whole, or that are the name server's alone, and ports of the web at
// which something else is.
func (s Addresses) checkWeb() error {
	for _, a := range s.Config.Web.Addresses {
		if s.reads(a) {
			continue
		}
		if slices.Contains(s.Config.Pool.Addresses, a) {
			return errors.New(s.Config.Web.WhyApart(a, "pool.addresses"))
		}
		if a == s.Config.DNS.Public.Addr() {
			return errors.New(s.Config.Web.WhyApart(a, "dns.public"))
		}
	}
	ports := s.WebPorts()
	if len(s.Config.Web.Interfaces) > 0 {
		ports = append(ports, s.portsAt(netip.IPv4Unspecified())...)
	}
	for _, p := range ports {
		if netip.AddrPortFrom(p.Host, p.Port) == s.Config.DNS.Public {
			return fmt.Errorf("web.addresses: names of the web are read at %s port %d, where the name server listens: give one of them another port", p.Protocol, p.Port)
		}
		if slices.Contains(s.Dnat, p) {
			return fmt.Errorf("web.addresses: names of the web are read at %s port %d of %s, which dnat sends on: leave one of them out", p.Protocol, p.Port, p.Host)
		}
	}
	return nil
}

// Listeners are the programs of the gateway.
type Listeners interface {
	Listens(p model.Protocol, at netip.AddrPort) bool
	Program(p model.Protocol, at netip.AddrPort) string // "": it is not known
}

// Deaf says which programs of the gateway listen at ports of the web, where they hear nobody from outside.
func (s Addresses) Deaf(machine Listeners) (list []string) {
	for _, p := range s.WebPorts() {
		at := netip.AddrPortFrom(p.Host, p.Port)
		if !machine.Listens(p.Protocol, at) {
			continue
		}
		list = append(list, fmt.Sprintf("%s listens at %s port %d of %s, and hears nobody from outside, as names of the web are read there: have it listen elsewhere",
			cmp.Or(machine.Program(p.Protocol, at), "a program of the gateway"), p.Protocol, p.Port, p.Host))
	}
	return list
}
