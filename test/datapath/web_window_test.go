package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A host's window reaches its client whole, up to the 32 MB that Linux has room for: a tenth of a second at 2.7 Gbit/s.
func TestWebWindowIsWhole(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	const scale = 10
	const room = 32<<20 - 1<<scale // tcp_rmem of Linux 6.18
	v := g.visitor(endpoint(remote, 50000), fullAbility, ability{mss: 1460, scale: scale, sack: true, timestamps: true})
	v.knocks(allPromised)
	v.connects("GET / HTTP/1.1\r\n")
	v.opens()
	at := uint32(hostISN)
	for _, window := range []uint32{room, 16 << 20, 64 << 10, 1 << scale, 0} {
		p := v.says(packets.ACK, at+100, v.isn+24, "", stamps(hostClock+clientClock, clientClock+6)).Change(func(p *packets.Packet) { p.TCP.Window = uint16(window >> scale) })
		same(g, "the window", uint32(v.forwarded(v.put(p)).TCP.Window)<<datapath.WebScale, window)
	}
}

// scaled is how a window of one end is read by the other.
func scaled(window uint16, left int) uint16 {
	if left < 0 {
		return window >> -left
	}
	return uint16(min(uint32(window)<<left, 65535))
}
