package gateway

import "net/netip"

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

// translated reports whether a flow from inside leaves by a mapping.
func (e *explainer) translated(f flow) bool {
	_, excepted := e.excepted(f.destination)
	return !excepted
}
