package replay

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// capture writes frames as pcap, whose first lacks cut octets.
func capture(order binary.AppendByteOrder, magic, link uint32, cut int, frames ...[]byte) []byte {
	b := order.AppendUint32(nil, magic)
	b = append(b, make([]byte, 16)...)
	b = order.AppendUint32(b, link)
	for i, frame := range frames {
		length := len(frame)
		if i == 0 {
			frame = frame[:len(frame)-cut]
		}
		for _, n := range []int{1, 2, len(frame), length} {
			b = order.AppendUint32(b, uint32(n))
		}
		b = append(b, frame...)
	}
	return b
}

var (
	client, server = packets.At("192.168.1.7:40000"), packets.At("203.0.113.9:443")
	syn            = packets.NewTCP(client, server, packets.SYN, "")
	answer         = packets.NewTCP(server, client, packets.SYN|packets.ACK, "")
	question       = packets.NewUDP(packets.At("192.168.1.8:5353"), packets.At("203.0.113.53:53"), "who?")
	echo           = packets.NewEcho(client.Addr(), server.Addr(), 77, 1)
	reply          = packets.NewEchoReply(server.Addr(), client.Addr(), 77, 1)
)

func frames(list ...packets.Packet) (frames [][]byte) {
	for _, p := range list {
		frames = append(frames, p.Bytes())
	}
	return frames
}

func TestRead(t *testing.T) {
	t.Parallel()
	all := frames(syn, answer, question, echo, reply)
	for name, file := range map[string][]byte{
		"microseconds": capture(binary.LittleEndian, magicMicroseconds, 1, 0, all...),
		"nanoseconds":  capture(binary.LittleEndian, magicNanoseconds, 1, 0, all...),
		"big-endian":   capture(binary.BigEndian, magicMicroseconds, 1, 0, all...),
		"tagged":       capture(binary.LittleEndian, magicMicroseconds, 1, 0, append(frames(syn.Tagged(7)), all[1:]...)...),
	} {
		r, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var flows, back string
		for _, p := range r.Packets {
			flows += string(rune('0' + p.Flow))
			back += map[bool]string{false: ">", true: "<"}[p.Back]
		}
		if flows != "00122" || back != "><>><" || r.Hosts != 2 || len(r.Skipped) != 0 || r.Flows[0].Tuple.Source != client || r.Flows[1].Host != 1 {
			t.Errorf("%s: flows %s, directions %s, %+v", name, flows, back, r)
		}
	}
	raw := capture(binary.LittleEndian, magicMicroseconds, linkRaw, 0, syn.Network(), answer.Network())
	if r, err := Read(bytes.NewReader(raw)); err != nil || len(r.Packets) != 2 || !r.Packets[1].Back {
		t.Errorf("raw IP: %+v, %v", r, err)
	}
	cooked := capture(binary.LittleEndian, magicMicroseconds, 113, 0, append(append(make([]byte, 14), 8, 0), syn.Network()...))
	if r, err := Read(bytes.NewReader(cooked)); err != nil || len(r.Packets) != 1 {
		t.Errorf("cooked: %+v, %v", r, err)
	}
}

// What is not replayed is counted by why.
func TestReadSkips(t *testing.T) {
	t.Parallel()
	fragment := packets.NewUDP(client, server, strings.Repeat("x", 3000)).Change(func(p *packets.Packet) { p.IPv4.DF = false }).Fragments(1400)[0]
	for why, p := range map[string]packets.Packet{
		"a fragment": fragment, "not IPv4": packets.NewUDP(packets.At("[2001:db8::1]:1"), packets.At("[2001:db8::2]:2"), ""),
		"longer than 1,500 octets, as offloads make them": packets.NewTCP(client, server, packets.ACK, strings.Repeat("x", 3000)),
		"another protocol": packets.NewIP(client.Addr(), server.Addr(), 47, []byte("gre")),
		"no query of ICMP": packets.NewICMPError(server.Addr(), client.Addr(), 3, 1, 0, syn, 28),
	} {
		r, err := Read(bytes.NewReader(capture(binary.LittleEndian, magicMicroseconds, 1, 0, frames(syn, p)...)))
		if err != nil || r.Skipped[why] != 1 || len(r.Packets) != 1 {
			t.Errorf("%s: %+v, %v", why, r, err)
		}
	}
	cut := capture(binary.LittleEndian, magicMicroseconds, 1, 4, frames(question, syn)...)
	if r, err := Read(bytes.NewReader(cut)); err != nil || r.Told() != "skipped: 1 cut by the capture" {
		t.Errorf("cut: %+v, %v", r, err)
	}
	if _, err := Read(bytes.NewReader(capture(binary.LittleEndian, magicMicroseconds, 1, 0, frames(fragment)...))); err == nil || !strings.Contains(err.Error(), "1 a fragment") {
		t.Errorf("nothing to replay: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	whole := capture(binary.LittleEndian, magicMicroseconds, 1, 0, frames(syn)...)
	next := binary.LittleEndian.AppendUint32(nil, magicNext)
	huge := append(bytes.Clone(whole[:fileHeader]), capture(binary.LittleEndian, 0, 0, 0, make([]byte, 4))[fileHeader:]...)
	binary.LittleEndian.PutUint32(huge[fileHeader+8:], 1<<30)
	for want, file := range map[string][]byte{
		"header": whole[:10], "editcap -F pcap": append(next, make([]byte, 40)...), "no capture": make([]byte, 40),
		"link type 105": capture(binary.LittleEndian, magicMicroseconds, 105, 0), "read packet 1": whole[:len(whole)-3], "damaged": huge,
	} {
		if _, err := Read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A packet goes on between other ends with right checksums, and one that a capture saw
// before a network card made them is as good.
func TestBetween(t *testing.T) {
	t.Parallel()
	partial := syn.Change(func(p *packets.Packet) { p.TCP.Checksum = packets.ChecksumPartial })
	r, err := Read(bytes.NewReader(capture(binary.LittleEndian, magicMicroseconds, 1, 0, frames(partial, answer, question, echo, reply)...)))
	if err != nil {
		t.Fatal(err)
	}
	a, b := netip.MustParseAddrPort("10.0.0.2:1"), netip.MustParseAddrPort("198.19.0.2:2")
	for i, p := range r.Packets {
		source, destination := a, b
		if p.Back {
			source, destination = b, a
		}
		got, err := packets.Parse(p.Between(source, destination).Bytes())
		if err != nil || got.IPv4.Checksum != packets.ChecksumValid || got.IPv4.Source != source.Addr() || got.IPv4.Destination != destination.Addr() {
			t.Errorf("packet %d: %v, %v", i, got, err)
		}
		switch {
		case got.TCP != nil && (got.TCP.Checksum != packets.ChecksumValid || got.TCP.Source != source.Port()),
			got.UDP != nil && (got.UDP.Checksum != packets.ChecksumValid || got.UDP.Destination != destination.Port()),
			got.ICMP != nil && (got.ICMP.Checksum != packets.ChecksumValid || got.ICMP.Identifier() != a.Port()):
			t.Errorf("packet %d: %v", i, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(capture(binary.LittleEndian, magicMicroseconds, 1, 0, frames(syn, answer, question, echo, reply)...))
	f.Add(capture(binary.BigEndian, magicNanoseconds, 276, 0, append(make([]byte, 20), syn.Network()...)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, p := range r.Packets {
			if p.Flow >= len(r.Flows) {
				t.Fatalf("%+v", p)
			}
			p.Between(client, server).Bytes()
		}
	})
}
