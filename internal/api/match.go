package api

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// These are what a Filter means for each kind of entry, for gateways to use.

// MatchSession reports whether s is let through: the address and the port may
// be those of any of its three endpoints, the host its host or the name that
// was asked for.
func (f Filter) MatchSession(s Session) bool {
	return f.protocol(s.Protocol) && f.name(s.Host, s.Name) &&
		f.endpoints(s.Private, s.External, s.Remote)
}

// MatchReservation is MatchSession for reservations. One for any protocol or
// any port matches every protocol or port, as it covers them.
func (f Filter) MatchReservation(r Reservation) bool {
	return (r.Protocol == model.AnyProtocol || f.protocol(r.Protocol)) &&
		f.name(r.Host, r.Name) &&
		(f.Port == 0 || r.Port == 0 || f.Port == r.Port || f.Port == r.Private.Port()) &&
		f.address(r.Address, r.Private.Addr())
}

// MatchHost reports whether h is let through: by its address, its name or a
// service's, and by one service that has both the port, outside or inside, and
// the protocol.
func (f Filter) MatchHost(h Host) bool {
	if !f.address(h.Address) {
		return false
	}
	if f.Port == 0 && f.Protocol == model.AnyProtocol && (f.Host == "" || f.Host == h.Name) {
		return true
	}
	for _, s := range h.Services {
		if f.protocol(s.Protocol) && f.name(h.Name, s.Name) && (f.Port == 0 || f.Port == s.Port || f.Port == s.To) {
			return true
		}
	}
	return false
}

// MatchDrop is MatchSession for dropped packets, by what their headers say.
func (f Filter) MatchDrop(d Drop) bool {
	return f.protocol(d.Tuple.Protocol) && f.name(d.Host) &&
		f.endpoints(d.Tuple.Source, d.Tuple.Destination)
}

func (f Filter) protocol(p model.Protocol) bool {
	return f.Protocol == model.AnyProtocol || f.Protocol == p
}

func (f Filter) name(names ...string) bool {
	if f.Host == "" {
		return true
	}
	for _, name := range names {
		if name == f.Host {
			return true
		}
	}
	return false
}

func (f Filter) address(addresses ...netip.Addr) bool {
	if !f.Address.IsValid() {
		return true
	}
	for _, address := range addresses {
		if address == f.Address {
			return true
		}
	}
	return false
}

// endpoints wants the address and the port among them, not both at one.
func (f Filter) endpoints(endpoints ...netip.AddrPort) bool {
	address, port := !f.Address.IsValid(), f.Port == 0
	for _, endpoint := range endpoints {
		address = address || endpoint.Addr() == f.Address
		port = port || endpoint.Port() == f.Port
	}
	return address && port
}
