package gateway

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
)

// excepted returns the destination without NAT that an address is of (is_excepted of
// bpf/include/except.h).
func (e *explainer) excepted(a netip.Addr) (netip.Prefix, bool) {
	for _, p := range e.view.config.Outbound.Except {
		if p.Contains(a) && e.kindOf(a) == notOurs {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// outside is the address by which a flow from inside leaves (own_outside of
// bpf/include/own.h); invalid where none lives.
func (e *explainer) outside(f flow) (netip.Addr, error) {
	if _, excepted := e.excepted(f.destination); excepted {
		return f.source, nil
	}
	if own, has := e.view.config.OneToOne()[f.source]; has {
		return own, nil
	}
	return e.data.OutboundOf(f.source)
}

// maps reports whether a flow from inside leaves by a mapping.
func (e *explainer) maps(f flow) bool {
	_, excepted := e.excepted(f.destination)
	_, own := e.view.config.OneToOne()[f.source]
	return !excepted && !own && !f.protocol.ByAddress()
}

// ownHost is the host that has a public address alone, and the port there.
func (e *explainer) ownHost(f flow) netip.AddrPort {
	at := slices.IndexFunc(e.view.config.Hosts, func(h config.Host) bool { return h.OneToOne == f.destination })
	if at < 0 {
		return netip.AddrPort{}
	}
	private := netip.AddrPortFrom(e.view.config.Hosts[at].Address, f.port)
	e.step("host", "continue", "it is %s alone", endpointText(f.protocol, private))
	return private
}
