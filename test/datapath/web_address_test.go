package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A web address is answered for as one of the pool is, until it is none any more, whatever becomes of the pool meanwhile.
func TestWebAddressIsAnsweredFor(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	shared := netip.MustParseAddr("198.18.0.80")
	asked := func(want bool) {
		t.Helper()
		r := g.fromOutside(packets.NewARPRequest(packets.RouterMAC, router, shared))
		if (r.reason == "answered_arp") != want {
			t.Errorf("who asks for it by ARP: %s, want an answer: %v", r.reason, want)
		}
	}
	asked(false)
	g.in(func() error { return g.data.SetWebAddresses([]netip.Addr{shared}) })
	asked(true)
	g.in(func() error { return g.data.SetAddresses([]netip.Addr{pool2}, nil) })
	asked(true)
	g.in(func() error { return g.data.SetWebAddresses(nil) })
	asked(false)
}
