package datapath

import (
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Fragments that were held are left to the kernel where the next hop's link address is not known, as others are: they go out
// when it is. The kernel's reverse path filter, a loose one too, drops what comes in by an interface without addresses.
func TestHeldFragmentsWaitForTheNextHop(t *testing.T) {
	t.Parallel()
	bothModes(t, func(t *testing.T, at option) {
		g := newGateway(t, at, strangers)
		e := g.ends()
		out := endpoint(outbound, 40000)
		g.handed(g.put(udp(inA, server)), "forwarded_no_neighbour", udp(out, server))
		payload := func(p *packets.Packet) { p.Payload = make([]byte, 1000) }
		pieces := divided(udp(inA, server).Change(payload), 1, 400)
		slices.Reverse(pieces)
		for _, p := range pieces {
			e.live(p)
		}
		deadline := time.Now().Add(5 * time.Second)
		for asked := false; !asked; {
			p, err := packets.Parse(must(e.outside.Receive(deadline))(t))
			asked = err == nil && p.ARP != nil && p.ARP.TargetIP == router
		}
		for ; g.held() > 0; time.Sleep(time.Millisecond) { // nothing tells of a slot that is free
			if time.Now().After(deadline) {
				t.Fatal("fragments are held still")
			}
		}
		g.in(func() error { neighbour(t, g.public, router, packets.RouterMAC); return nil })
		if missing := e.whole([]packets.Packet{udp(out, server).Change(payload)}, time.Now().Add(5*time.Second)); missing > 0 {
			t.Errorf("the datagram did not come whole: %v", e.counters())
		}
	})
}
