package ipv4

import (
	"bytes"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Whatever a frame holds, its parts lie within it; what Complete says to be whole is whole, and of what Divide makes of it no octet
// is lost, and each is a packet of its own.
func FuzzParse(f *testing.F) {
	for _, p := range []packets.Packet{segment(), datagram(), packets.NewEcho(one.Addr(), two.Addr(), 7, 1)} {
		f.Add(p.Bytes(), uint16(0))
		f.Add(p.Bytes(), uint16(4))
		f.Add(p.Bytes()[:len(p.Bytes())-1], uint16(4))
		f.Add(append(p.Bytes(), 0, 0, 0), uint16(100))
	}
	f.Fuzz(func(t *testing.T, frame []byte, each uint16) {
		p, err := Parse(frame)
		if err != nil {
			return
		}
		if len(p.Frame) > len(frame) || len(p.IP) != len(p.Frame)-LinkHeader || p.Header > len(p.IP) || len(p.Payload) > len(p.IP)-p.Header {
			t.Fatalf("%x is %+v", frame, p)
		}
		payload, protocol := slices.Clone(p.Payload), p.Protocol()
		if p.Complete() && (protocol == TCP || protocol == UDP) {
			again, err := Parse(p.Frame)
			if err != nil || !again.Complete() || !bytes.Equal(again.Payload, payload) {
				t.Fatalf("%x is whole, and then %+v, %v", frame, again, err)
			}
		}
		var joined []byte
		for _, part := range p.Divide(int(each)) {
			again, err := Parse(slices.Clone(part.Frame))
			if err != nil || !bytes.Equal(again.Payload, part.Payload) || again.Protocol() != protocol {
				t.Fatalf("%x has a part %x, which is %+v, %v", frame, part.Frame, again, err)
			}
			joined = append(joined, part.Payload...)
		}
		if !bytes.Equal(joined, payload) {
			t.Fatalf("%x in parts of %d is %x", frame, each, joined)
		}
	})
}
