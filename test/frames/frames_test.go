package frames

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

var addresses = []netip.Addr{
	netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("198.18.0.33"), netip.MustParseAddr("198.51.100.10"),
}

var (
	inside = packets.At("10.0.0.100:40000")
	web    = packets.At("198.51.100.10:80")
)

func TestParseAndBytesAreInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		frame := Random(r, addresses).Bytes()
		parsed, err := packets.Parse(frame)
		if err != nil {
			t.Fatalf("% x: %v", frame, err)
		}
		if got := parsed.Bytes(); !bytes.Equal(got, frame) {
			t.Fatalf("wrote % x\nread  %+v\nagain % x", frame, parsed, got)
		}
	}
}

func TestDiffNamesTheField(t *testing.T) {
	want := packets.NewTCP(inside, web, packets.SYN, "")
	cases := []struct {
		name   string
		change func(*packets.Packet)
		words  string
	}{
		{"same", func(*packets.Packet) {}, ""},
		{"TTL", func(p *packets.Packet) { p.IPv4.TTL-- }, "IPv4.TTL: want 64, got 63"},
		{"flags", func(p *packets.Packet) { p.TCP.Flags |= packets.ACK }, "TCP.Flags: want SYN, got SYN|ACK"},
		{"checksum", func(p *packets.Packet) { p.TCP.Checksum = packets.ChecksumPartial }, "TCP.Checksum: want valid, got partial"},
		{"address", func(p *packets.Packet) { p.IPv4.Source = web.Addr() }, "IPv4.Source: want 10.0.0.100, got 198.51.100.10"},
		{"layer", func(p *packets.Packet) { p.TCP = nil; p.UDP = &packets.UDP{} }, "UDP: want none"},
		{"MAC", func(p *packets.Packet) { p.Ethernet.Source = packets.HostMAC }, "Ethernet.Source: want 00:00:00:00:00:00, got 02:00:00:00:02:01"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Diff(want.Bytes(), want.Change(c.change).Bytes())
			if c.words == "" && got != "" || !strings.Contains(got, c.words) {
				t.Errorf("got %q, want %q", got, c.words)
			}
		})
	}
}

func TestMutateDamagesAndParseSurvives(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	changed := 0
	for range 50_000 {
		frame := Random(r, addresses).Bytes()
		mutated := Mutate(r, frame)
		if !bytes.Equal(frame, mutated) {
			changed++
		}
		p, err := packets.Parse(mutated)
		if err == nil && p.ICMP != nil {
			_, _ = Embedded(p) // must not panic
		}
	}
	if changed < 45_000 {
		t.Errorf("only %d of 50000 frames changed", changed)
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		f.Add(Random(r, addresses).Bytes())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		p, err := packets.Parse(frame)
		if err != nil {
			return
		}
		if _, err := packets.Parse(p.Bytes()); err != nil {
			t.Errorf("reads % x but not what it wrote: %v", frame, err)
		}
		if p.ICMP != nil {
			_, _ = Embedded(p)
		}
		_ = p.String()
	})
}

func TestEmbeddedReadsAQuotedPacket(t *testing.T) {
	original := packets.NewTCP(inside, web, packets.ACK, "twenty octets of data")
	p := packets.NewICMPError(netip.MustParseAddr("198.18.0.254"), inside.Addr(), packets.DestinationUnreachable, 4, 1400, original, 8)
	if len(p.Payload) != 28 {
		t.Fatalf("quotes %d octets, want 28", len(p.Payload))
	}
	quoted, err := Embedded(p)
	if err != nil {
		t.Fatal(err)
	}
	if quoted.IPv4.Source != inside.Addr() || quoted.IPv4.Checksum != packets.ChecksumValid || quoted.IPv4.TotalLength != 61 {
		t.Errorf("quoted header is %+v", quoted.IPv4)
	}
	if want := original.Network()[20:28]; !bytes.Equal(quoted.Payload, want) {
		t.Errorf("quoted % x, want % x", quoted.Payload, want)
	}
	p = packets.NewICMPError(netip.MustParseAddr("198.18.0.254"), inside.Addr(), packets.TimeExceeded, 0, 0, original, -1)
	quoted, err = Embedded(p)
	if err != nil || quoted.TCP == nil || quoted.TCP.Checksum != packets.ChecksumValid || quoted.Tuple() != original.Tuple() {
		t.Errorf("quoted in full: %v, %v", quoted, err)
	}
}
