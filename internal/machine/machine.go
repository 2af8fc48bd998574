package machine

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync/atomic"
)

// Machine is what was seen last. The zero value has seen nothing.
type Machine struct {
	addresses atomic.Pointer[map[netip.Addr]bool]
	sockets   atomic.Pointer[sockets]
	hops      hops
	locality  locality
}

// ReadAddresses reads those on an interface, and reports whether they are others than before.
func (m *Machine) ReadAddresses() (changed bool, err error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list the machine's own addresses: %w", err)
	}
	own := map[netip.Addr]bool{}
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap()] = true
		}
	}
	return m.SetAddresses(own), nil
}

// SetAddresses says what is on an interface, and reports whether that is other than before.
func (m *Machine) SetAddresses(own map[netip.Addr]bool) (changed bool) {
	before := m.addresses.Swap(&own)
	return before == nil || !maps.Equal(*before, own)
}

// Addresses are those on an interface, nil before they were read. Nobody changes them.
func (m *Machine) Addresses() map[netip.Addr]bool {
	if own := m.addresses.Load(); own != nil {
		return *own
	}
	return nil
}

// Owns reports whether an address is on an interface.
func (m *Machine) Owns(a netip.Addr) bool { return m.Addresses()[a] }
