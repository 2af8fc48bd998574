package wire

import (
	"cmp"
	"net/netip"
)

// Where is where a peer takes tunnel packets: at the address that our configuration has for it; where it has none, at the first of the
// peer's own by priority that can be another machine's (RFC 1122 section 3.2.1.3) and is not ours. It is not valid where there is none.
func (m Hello) Where(configured, ours netip.Addr) (at netip.AddrPort) {
	priority := 0
	for _, l := range m.Locators {
		usable := l.Address == configured
		if !configured.IsValid() {
			usable = l.Address != ours && isHost(l.Address)
		}
		if usable && (!at.IsValid() || l.Priority < priority) {
			at, priority = netip.AddrPortFrom(l.Address, cmp.Or(l.Port, GENEVEPort)), l.Priority
		}
	}
	if configured.IsValid() && !at.IsValid() {
		return netip.AddrPortFrom(configured, GENEVEPort)
	}
	return at
}

// isHost reports whether an IPv4 address can be a single machine's on a network.
func isHost(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	first := a.As4()[0]
	return a.IsGlobalUnicast() && first != 0 && first < 240
}
