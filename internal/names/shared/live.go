package shared

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// Live is what is at the addresses now.
type Live struct {
	Data interface {
		// MappedTo is the private endpoint that has a port of an outbound address by a mapping.
		MappedTo(model.Protocol, netip.AddrPort) (netip.AddrPort, bool, error)
	}
	// Place is where a service is, and Places visits all addresses that services have, with their ports.
	Place   func(service model.Name) (netip.Addr, bool)
	Places  func(visit func(netip.Addr, []model.Port))
	Machine interface {
		// Owns reports whether an address is on an interface, Listens whether a program waits for strangers there.
		Owns(netip.Addr) bool
		Listens(model.Protocol, netip.AddrPort) bool
		// Addresses are all that are on an interface.
		Addresses() map[netip.Addr]bool
		// LookAtSockets learns what programs wait at, and ForgetSockets is for when nobody asks.
		LookAtSockets() error
		ForgetSockets()
	}
}

// Lately are the ports of outbound addresses that were a service's, whose clients may still come (I9).
func (l Live) Lately(outbound []netip.Addr) (list []datapath.Service) {
	l.Places(func(at netip.Addr, ports []model.Port) {
		if !slices.Contains(outbound, at) {
			return
		}
		list = append(list, portsOf(at, ports)...)
	})
	return list
}

// Blocked is invariant I3 for the pool: any port of an address of the machine's own may be a service of it, whose
// packets a loan would take away. Of an outbound address it is those ports alone that something else has.
func (l Live) Blocked(s Addresses, a netip.Addr, p model.Protocol, port uint16) bool {
	if !s.Lends(a) {
		return l.Machine.Owns(a)
	}
	return s.never(a, p, port) != "" || l.listens(a, p, port) || l.isMapped(a, p, port)
}

func (l Live) listens(a netip.Addr, p model.Protocol, port uint16) bool {
	return l.Machine.Listens(p, netip.AddrPortFrom(a, port))
}

// isMapped reports whether a mapping has a port still, from before it was a service's.
func (l Live) isMapped(a netip.Addr, p model.Protocol, port uint16) bool {
	_, mapped, err := l.Data.MappedTo(p, netip.AddrPortFrom(a, port))
	return mapped || err != nil
}

// LookAtSockets has the machine learn what programs of it listen at, as long as services or the web have ports of an outbound
// address.
func (l Live) LookAtSockets(s Addresses) error {
	if len(s.List())+len(s.WebPorts()) == 0 {
		l.Machine.ForgetSockets()
		return nil
	}
	return l.Machine.LookAtSockets()
}

// LogOwn tells the log which pool addresses are never lent.
func (l Live) LogOwn(s Addresses, log *slog.Logger) {
	for _, a := range s.onInterfaces(l.Machine.Addresses()) {
		log.Warn("pool address not lent", "hint", "it is on an interface: take it off, or out of pool.addresses", "address", a)
	}
}

// CheckListening refuses services whose ports programs of the gateway have, where the pool has nothing else.
func (l Live) CheckListening(s Addresses) error {
	for _, service := range s.Registry.Lendable() {
		if why := l.whyListening(s, service); why != "" {
			return fmt.Errorf("hosts: %s", why)
		}
	}
	return nil
}

func (l Live) whyListening(s Addresses, service *registry.Service) (why string) {
	for _, a := range s.Config.Pool.Addresses {
		if !s.Lends(a) {
			return ""
		}
		i := slices.IndexFunc(service.Ports, func(p model.Port) bool { return l.listens(a, p.Protocol, p.Port) })
		if i < 0 {
			return ""
		}
		why = fmt.Sprintf("%s opens %s port %d, where a program of the gateway listens at %s: stop that, have it listen elsewhere, or give %s another port",
			service.Name, service.Ports[i].Protocol, service.Ports[i].Port, a, service.Name)
	}
	return why
}

// Warnings says which pool addresses are never lent, which names have no place at an outbound address, and who has what they
// want.
func (l Live) Warnings(s Addresses) (list []string) {
	list = s.OwnWarnings(l.Machine.Addresses())
	if len(s.List()) == 0 {
		return list
	}
	for _, service := range s.Registry.Lendable() {
		if at, stands := l.Place(service.Name); !stands {
			list = append(list, l.whyWaits(s, service)...)
		} else if s.Lends(at) {
			list = append(list, l.shadowed(service, at)...)
		}
	}
	return append(list, s.Rivals()...)
}

// whyWaits says what has the ports of a service, as long as no other service has.
func (l Live) whyWaits(s Addresses, service *registry.Service) []string {
	if why := l.whyListening(s, service); why != "" {
		return []string{why + "; until then the name is not answered"}
	}
	for _, a := range s.List() {
		for _, p := range service.Ports {
			if host, mapped, err := l.Data.MappedTo(p.Protocol, netip.AddrPortFrom(a, p.Port)); mapped && err == nil {
				return []string{fmt.Sprintf("%s waits for %s port %d of %s, by which %s has gone out since before it was a service's: to end that: realmgate sessions end --address %s",
					service.Name, p.Protocol, p.Port, a, host.Addr(), host.Addr())}
			}
		}
	}
	return nil
}

// shadowed says which ports of a service a program of the gateway has taken since.
func (l Live) shadowed(service *registry.Service, at netip.Addr) (list []string) {
	for _, p := range service.Ports {
		if l.listens(at, p.Protocol, p.Port) {
			list = append(list, fmt.Sprintf("a program of the gateway listens at %s port %d of %s and gets what is for %s: stop it, or have it listen elsewhere",
				p.Protocol, p.Port, at, service.Name))
		}
	}
	return list
}
