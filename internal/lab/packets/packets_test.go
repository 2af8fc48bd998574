package packets

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

var (
	inside  = At("10.0.0.100:40000")
	outside = At("198.51.100.10:53")
	web     = At("198.51.100.10:80")
)

// The octets come from another implementation, so that a sum that is wrong
// both ways shows.
func divisible(p *Packet) { p.IPv4.DF = false }

func TestBytesMatchesKnownPackets(t *testing.T) {
	segment := NewTCP(inside, web, SYN|ACK, "abc")
	segment.TCP.Sequence, segment.TCP.Acknowledge, segment.TCP.Options = 1, 2, []byte{2, 4, 0x05, 0xb4}
	cases := []struct {
		name   string
		packet Packet
		want   string
	}{
		{
			"IPv4 header", Packet{IPv4: &IPv4{
				Source: netip.MustParseAddr("192.168.0.1"), Destination: netip.MustParseAddr("192.168.0.199"),
				Protocol: model.UDP, TTL: 64, DF: true, TotalLength: 0x73,
			}}, "45000073000040004011b861c0a80001c0a800c7",
		},
		{
			"echo request", NewICMP(netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.1"), EchoRequest, 0, 0x00010001, nil).Change(divisible),
			"4500001c0000000040017cdf7f0000017f0000010800f7fd00010001",
		},
		{"UDP, odd length", NewUDP(inside, outside, "hello").Change(divisible), "45000021000000004011462b0a000064c633640a9c400035000deaea68656c6c6f"},
		{"TCP with options", segment.Change(divisible), "4500002f00000000400646280a000064c633640a9c40005000000001000000026012ffff027c0000020405b4616263"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := hex.EncodeToString(c.packet.Network()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestUDPChecksumComputedZeroIsSentAsAllOnes(t *testing.T) {
	// Protocol 17 and twice the length 10 make 0x25: the payload fills the sum up to 0xffff.
	p := NewUDP(At("0.0.0.0:0"), At("0.0.0.0:0"), "\xff\xda")
	frame := p.Bytes()
	if field := frame[40:42]; !bytes.Equal(field, []byte{0xff, 0xff}) {
		t.Fatalf("checksum field is % x, want ff ff", field)
	}
	parsed, err := Parse(frame)
	if err != nil || parsed.UDP.Checksum != ChecksumValid {
		t.Fatalf("parsed as %v, %v; want valid", parsed.UDP.Checksum, err)
	}
}

func TestParseFindsWhatBytesWrote(t *testing.T) {
	for kind := ChecksumValid; kind <= ChecksumBad; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			udp := NewUDP(inside, outside, "query").Between(HostMAC, GatewayPrivateMAC)
			udp.UDP.Checksum = kind
			tcp := NewTCP(inside, web, SYN, "")
			tcp.TCP.Checksum = kind
			six := NewUDP(At("[2001:db8::1]:1"), At("[2001:db8::2]:2"), "x")
			six.UDP.Checksum = kind
			for _, p := range []Packet{udp, tcp, six} {
				parsed, err := Parse(p.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				var found Checksum
				if parsed.UDP != nil {
					found = parsed.UDP.Checksum
				} else {
					found = parsed.TCP.Checksum
				}
				if found != kind {
					t.Errorf("%s: found %s, want %s", p, found, kind)
				}
			}
		})
	}
}

func TestParseReadsEveryField(t *testing.T) {
	full := NewTCP(inside, web, FIN|CWR, "data").Between(HostMAC, GatewayPrivateMAC).Tagged(7)
	full.Ethernet.Type = TypeIPv4
	*full.IPv4 = IPv4{
		Source: inside.Addr(), Destination: web.Addr(), Protocol: model.TCP, TTL: 3, TOS: 0xb8, ID: 77,
		DF: true, Reserved: true, Options: []byte{7, 7, 4, 0, 0, 0, 0, 0}, Checksum: ChecksumBad, ChecksumValue: 0x1234,
	}
	*full.TCP = TCP{
		Source: 40000, Destination: 80, Sequence: 0xfffffffe, Acknowledge: 9, Flags: FIN | CWR,
		Window: 100, Urgent: 5, Options: []byte{1, 1, 1, 0},
	}
	full.Trailer = []byte{0, 0, 9}
	parsed, err := Parse(full.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed, full) {
		t.Errorf("got  %+v %+v\nwant %+v %+v", parsed.IPv4, parsed.TCP, full.IPv4, full.TCP)
	}
	arp := NewARPReply(HostMAC, inside.Addr(), GatewayPrivateMAC, netip.MustParseAddr("10.0.0.1"))
	arp.Ethernet.Type = TypeARP
	if parsed, err = Parse(arp.Bytes()); err != nil || !reflect.DeepEqual(parsed, arp) {
		t.Errorf("got %+v, %v, want %+v", parsed.ARP, err, arp.ARP)
	}
}

func TestParseErrors(t *testing.T) {
	good := NewTCP(inside, web, SYN, "")
	cases := []struct {
		name  string
		frame []byte
		want  error
	}{
		{"nothing", nil, ErrTruncated},
		{"half a tag", good.Tagged(1).Bytes()[:16], ErrTruncated},
		{"half an IPv4 header", good.Bytes()[:30], ErrTruncated},
		{"half a TCP header", good.Bytes()[:44], ErrTruncated},
		{"header length 4", good.Change(func(p *Packet) { p.IPv4.HeaderLength = 4 }).Bytes(), ErrMalformed},
		{"total length 19", good.Change(func(p *Packet) { p.IPv4.TotalLength = 19 }).Bytes(), ErrMalformed},
		{"total length beyond the frame", good.Change(func(p *Packet) { p.IPv4.TotalLength = 1000 }).Bytes(), ErrTruncated},
		{"TCP offset 15", good.Change(func(p *Packet) { p.TCP.DataOffset = 15 }).Bytes(), ErrMalformed},
		{"ARP cut short", NewARPRequest(HostMAC, inside.Addr(), web.Addr()).Bytes()[:40], ErrTruncated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(c.frame); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestFragmentsCoverTheDatagram(t *testing.T) {
	whole := NewUDP(inside, outside, strings.Repeat("0123456789", 10))
	var body []byte
	pieces := whole.Fragments(32)
	for i, piece := range pieces {
		parsed, err := Parse(piece.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if int(parsed.IPv4.FragmentOffset)*8 != len(body) || parsed.IPv4.MF != (i < len(pieces)-1) {
			t.Errorf("piece %d: offset %d, more %v", i, parsed.IPv4.FragmentOffset, parsed.IPv4.MF)
		}
		if i == 0 && (parsed.UDP == nil || parsed.UDP.Checksum != ChecksumUnknown) {
			t.Errorf("first piece: %+v", parsed.UDP)
		}
		body = append(body, piece.Payload...)
	}
	if want := whole.Network()[20:]; !bytes.Equal(body, want) {
		t.Errorf("pieces hold % x, want % x", body, want)
	}
}

func TestChangeLeavesTheOriginal(t *testing.T) {
	p := NewTCP(inside, web, SYN, "body").Tagged(1)
	before := p.Bytes()
	p.Change(func(c *Packet) { c.IPv4.TTL, c.TCP.Flags, c.Payload[0], c.VLANs[0].TCI = 1, RST, 'x', 9 })
	if after := p.Bytes(); !bytes.Equal(after, before) {
		t.Errorf("% x became % x", before, after)
	}
}

func TestBothZerosOfOnesComplementAreValid(t *testing.T) {
	p := NewICMP(inside.Addr(), web.Addr(), 0xff, 0xff, 0, nil)
	for _, field := range []byte{0, 0xff} {
		frame := p.Bytes()
		frame[36], frame[37] = field, field
		parsed, err := Parse(frame)
		if err != nil || parsed.ICMP.Checksum != ChecksumValid {
			t.Errorf("field %#x: %s, %v", field, parsed.ICMP.Checksum, err)
		}
		if again := parsed.Bytes(); !bytes.Equal(again, frame) {
			t.Errorf("field %#x: % x became % x", field, frame, again)
		}
	}
}

func TestTunnelledPackets(t *testing.T) {
	inner := NewTCP(At("0.1.0.2:40000"), At("128.3.0.4:80"), SYN, "x")
	geneve := append([]byte{3, 0x40, 8, 0, 1, 2, 3, 0, 0xff, 0x52, 0x85, 2, 1, 2, 3, 4, 5, 6, 7, 8}, inner.Network()...)
	outer := NewUDP(At("198.18.0.1:49152"), At("203.0.113.9:6081"), string(geneve))
	got, vni, found := outer.Tunnelled()
	if !found || vni != 0x010203 || got.String() != inner.String() {
		t.Errorf("got %v of %#x, %v, want %v", got, vni, found, inner)
	}
	if text := outer.String(); !strings.HasSuffix(text, "61 octets, geneve 0x010203: "+inner.String()) {
		t.Errorf("got %q", text)
	}
	for name, other := range map[string]Packet{
		"another port": NewUDP(At("198.18.0.1:49152"), At("203.0.113.9:53"), string(geneve)), "less than a header": NewUDP(At("198.18.0.1:49152"), At("203.0.113.9:6081"), string(geneve[:7])),
		"options without end": NewUDP(At("198.18.0.1:49152"), At("203.0.113.9:6081"), string(geneve[:19])), "nothing inside": NewUDP(At("198.18.0.1:49152"), At("203.0.113.9:6081"), string(geneve[:20])),
	} {
		if got, _, found := other.Tunnelled(); found {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
