package ipv4

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

var (
	one = netip.MustParseAddrPort("203.0.113.10:40001") // an odd number of odd things
	two = netip.MustParseAddrPort("198.18.0.80:443")
)

const said = "seven, and more"

func segment() packets.Packet {
	return packets.NewTCP(one, two, packets.ACK|packets.PSH|packets.FIN, said).Change(func(p *packets.Packet) {
		p.TCP.Options, p.IPv4.ID = []byte{1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8}, 0xffff
	})
}

func datagram() packets.Packet { return packets.NewUDP(one, two, said) }

// What is cut off, or says that it is longer or shorter than can be, is no packet; padding is none of it.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]packets.Packet{"TCP": segment(), "UDP": datagram()} {
		whole := p.Bytes()
		got, err := Parse(append(slices.Clone(whole), 0, 0, 0))
		if err != nil || string(got.Payload) != said || !bytes.Equal(got.Frame, whole) {
			t.Errorf("%s: %q, % x: %v", name, got.Payload, got.Frame, err)
		}
		for n := range whole {
			if _, err := Parse(whole[:n]); err == nil {
				t.Errorf("%s: %d of %d octets are a packet", name, n, len(whole))
			}
		}
		for at := range len(whole) - len(said) { // lengths among them
			for _, octet := range []byte{0, 1, 0x0f, 0x45, 0xf0, 0xff} {
				wrong := slices.Clone(whole)
				wrong[at] = octet
				if p, err := Parse(wrong); err == nil {
					p.Complete()
					p.Divide(7)
				}
			}
		}
	}
}

// A checksum that is left to an interface is filled in, a right one and none at all stay, and a wrong one is told.
func TestComplete(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]packets.Packet{"TCP": segment(), "UDP": datagram()} {
		whole := p.Bytes()
		left := slices.Clone(whole)
		got, err := Parse(left)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Complete() || !bytes.Equal(left, whole) {
			t.Errorf("%s: a right one does not stay", name)
		}
		got.Leave()
		if bytes.Equal(left, whole) || !got.Complete() || !bytes.Equal(left, whole) {
			t.Errorf("%s: it is completed to % x, want % x", name, left, whole)
		}
		left[len(left)-1] ^= 1
		if got.Complete() {
			t.Errorf("%s: a wrong one is right", name)
		}
		if name == "UDP" {
			copy(got.Transport()[6:], []byte{0, 0})
			if !got.Complete() {
				t.Error("a datagram without one is wrong")
			}
		}
	}
}

// The packets of an aggregate are those that their sender would have sent one by one.
func TestDivide(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]packets.Packet{"TCP": segment(), "UDP": datagram()} {
		for each := 1; each <= len(said)+1; each++ {
			p, err := Parse(whole.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for i, got := range p.Divide(each) {
				end := min(all.Len()+each, len(said))
				want := whole.Change(func(p *packets.Packet) {
					p.Payload = []byte(said[all.Len():end])
					if p.TCP == nil {
						return
					}
					p.IPv4.ID += uint16(i)
					p.TCP.Sequence += uint32(all.Len())
					if end < len(said) {
						p.TCP.Flags = packets.ACK
					}
				}).Bytes()
				if !bytes.Equal(got.Frame, want) || string(got.Payload) != said[all.Len():end] {
					t.Fatalf("%s by %d, %d: % x, want % x", name, each, i, got.Frame, want)
				}
				if name == "TCP" && got.Sequence != p.Sequence+uint32(all.Len()) {
					t.Errorf("%s by %d, %d: its number is %d", name, each, i, got.Sequence)
				}
				all.Write(got.Payload)
			}
			if all.String() != said {
				t.Errorf("%s by %d: %q", name, each, all.String())
			}
		}
	}
	split := datagram().Change(func(p *packets.Packet) { p.IPv4.DF, p.IPv4.ID = false, 7 })
	p, _ := Parse(split.Bytes())
	if last := p.Divide(10)[1]; last.IP[5] != 8 {
		t.Errorf("datagrams that may be fragmented share the identification %d", last.IP[5])
	}
}
