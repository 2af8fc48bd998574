package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A frame of XDP does not tell that its checksum is partial: the data plane finds out, and
// completes it before it redirects the packet. What it hands to the kernel stays partial, as
// the socket buffer says it is.
func TestPartialChecksumsOverXDP(t *testing.T) {
	t.Parallel()
	if atTCX() {
		return // socket buffers tell it: test/e2e has them
	}
	partial := func(p packets.Packet) packets.Packet {
		return p.Change(func(p *packets.Packet) {
			if p.UDP != nil {
				p.UDP.Checksum = packets.ChecksumPartial
			} else {
				p.TCP.Checksum = packets.ChecksumPartial
			}
		})
	}
	g := newGateway(t)
	out := endpoint(outbound, inA.Port())
	for _, c := range []struct{ in, out packets.Packet }{
		{udp(inA, server), udp(out, server)},
		{packets.NewUDP(inA, server, "odd"), packets.NewUDP(out, server, "odd")},
		{tcp(inA, web, packets.SYN), tcp(out, web, packets.SYN)},
	} {
		g.leaves(g.put(partial(c.in)), c.out)
	}
	g.leaves(g.put(partial(udp(server, out))), udp(server, inA))
	check(t, g.namespace.RemoveRoute("default", router.String()))
	check(t, g.namespace.Route("default", "198.18.0.253")) // whom nobody knows
	g.data.RoutesChanged()
	g.handed(g.put(partial(udp(inA, server))), "forwarded_no_neighbour", partial(udp(out, server)))
}
