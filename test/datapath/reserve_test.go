package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

func sessionReserve(n int) option { return func(s *setup) { s.Reserve = n } }

// Many hosts inside fill the table, and what comes from outside still has its part of it; and
// the other way round. Who has opened all that it may is refused, and what ends is given back.
func TestReserve(t *testing.T) {
	t.Parallel()
	const kept, most = 64, model.MinCapacity - 64
	g := newGateway(t, capacity(model.MinCapacity), filtering(model.EndpointIndependent), sessionReserve(kept))
	out := g.mapped(udp(inA, server)) // the first of those from inside
	inside := func(n int) packets.Packet {
		return udp(endpoint(host(n), 5000), server)
	}
	outside := func(n int) packets.Packet {
		return udp(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 114, byte(n >> 8)}), uint16(1024+n&255)), out)
	}
	opens := func(what string, packet func(int) packets.Packet, from, n int) {
		t.Helper()
		for i := range n {
			if r := g.put(packet(from + i)); r.reason != "forwarded" {
				t.Fatalf("%s session %d of %d: %s", what, i, n, r.reason)
			}
		}
		for i := range 20 {
			same(g, what+" session too many", g.put(packet(from+n+i)).reason, "drop_session_table_full")
		}
	}
	rest := func() {
		t.Helper()
		g.sound()
		g.idle(301 * time.Second)
		g.idle(2 * time.Second)
		same(g, "sessions left", must(g.data.Usage())(t).Sessions, 0)
		g.sound()
		same(g, "outside endpoint", g.mapped(udp(inA, server)), out)
	}
	opens("an inside", inside, 0, most-1)
	opens("an outside", outside, 0, kept)
	rest()
	opens("an outside", outside, 0, most)
	opens("an inside", inside, 0, kept-1)
	rest()
	// Not all that is kept is taken: each side has what the other leaves, beyond its reserve.
	opens("an inside", inside, 0, most-1)
	rest()
	for n := range 500 {
		same(g, "reason", g.put(inside(n)).reason, "forwarded")
	}
	opens("an outside", outside, 0, model.MinCapacity-501)
}
