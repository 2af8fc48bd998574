package api

import (
	"net/netip"
	"slices"

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

// MatchBinding reports whether b is let through: by its addresses, its host or the name of its service, and by one port
// that has both the number, outside or inside, and the protocol. What opens everything has every port.
func (f Filter) MatchBinding(b Binding) bool {
	return f.name(b.Host, b.Service) && f.address(b.Address, b.Private) && f.ports(b.Ports)
}

func (f Filter) ports(ports []model.Port) bool {
	if f.Port == 0 && f.Protocol == model.AnyProtocol {
		return true
	}
	for _, p := range ports {
		if p.Protocol == model.AnyProtocol || f.protocol(p.Protocol) && (f.Port == 0 || f.Port == p.Port || f.Port == p.To) {
			return true
		}
	}
	return false
}

// MatchHost reports whether h is let through: by its address, its name or a
// service's, and by one port, outside or inside, and protocol of a service that
// has the name. What is everything has every port.
func (f Filter) MatchHost(h Host) bool {
	if !f.address(h.Address) {
		return false
	}
	if f.Port == 0 && f.Protocol == model.AnyProtocol && (f.Host == "" || f.Host == h.Name) {
		return true
	}
	for _, s := range h.Services {
		if f.name(append([]string{h.Name}, s.Names...)...) && slices.ContainsFunc(s.Ports, f.opens) {
			return true
		}
	}
	return false
}

func (f Filter) opens(p model.Port) bool {
	return p == model.Port{} || f.protocol(p.Protocol) && (f.Port == 0 || f.Port == p.Port || f.Port == p.To)
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
