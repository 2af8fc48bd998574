package webload

import (
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// different is how many frames a flood has before it repeats itself, with other sources and ports each.
const different = 1 << 15

// SYNs are frames of strangers in a /24 who want to connect.
func SYNs(from, to net.HardwareAddr, strangers netip.Addr, at netip.AddrPort) [][]byte {
	random := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // the same in each run
	frames := make([][]byte, different)
	for i := range frames {
		source := strangers.As4()
		source[3] = byte(i)
		p := packets.NewTCP(netip.AddrPortFrom(netip.AddrFrom4(source), 1024+uint16(random.IntN(1<<15))), at, packets.SYN, "") //nolint:gosec // it fits
		p.TCP.Sequence, p.TCP.Options = random.Uint32(), []byte{2, 4, 0x05, 0xb4}                                              // an MSS of 1460
		frames[i] = p.Between(packets.MAC(from), packets.MAC(to)).Bytes()
	}
	return frames
}
