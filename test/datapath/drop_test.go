package datapath

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

func change(p packets.Packet, f func(*packets.Packet)) packets.Packet { return p.Change(f) }

// drops lists packets that no side lets through, as they would come by an open
// session from inside and by its answers from outside.
var drops = []struct {
	name   string
	reason model.Reason
	bend   func(*packets.Packet)
}{
	{"IP version 6 in an IPv4 frame", "drop_malformed", func(p *packets.Packet) { p.Payload = nil }}, // bent below
	{"header length 4", "drop_malformed", func(p *packets.Packet) { p.IPv4.HeaderLength = 4 }},
	{"header longer than the packet", "drop_malformed", func(p *packets.Packet) { p.IPv4.HeaderLength = 15; p.Payload = nil }},
	{"total length under the header's", "drop_malformed", func(p *packets.Packet) { p.IPv4.TotalLength = 19 }},
	{"total length over the frame's", "drop_malformed", func(p *packets.Packet) { p.IPv4.TotalLength = 1400 }},
	{"no room for a UDP header", "drop_malformed", func(p *packets.Packet) { p.IPv4.TotalLength = 27 }},
	{"UDP length 7", "drop_malformed", func(p *packets.Packet) { p.UDP.Length = 7 }},
	{"UDP longer than its packet", "drop_malformed", func(p *packets.Packet) { p.UDP.Length = 100 }},
	{"destination port 0", "drop_malformed", func(p *packets.Packet) { p.UDP.Destination = 0 }},
	{"bad IP checksum", "drop_bad_checksum", func(p *packets.Packet) { p.IPv4.Checksum = packets.ChecksumBad }},
	{"bad IP checksum over options", "drop_bad_checksum", func(p *packets.Packet) { options(8)(p); p.IPv4.Checksum = packets.ChecksumBad }},
	{"middle fragment", "held_fragment", func(p *packets.Packet) { firstFragment(p); p.IPv4.FragmentOffset = 8 }},
	{"last fragment", "held_fragment", func(p *packets.Packet) { p.IPv4.FragmentOffset = 1 }},
	{"AH", "drop_protocol", func(p *packets.Packet) { p.IPv4.Protocol = 51 }},
	{"protocol 255", "drop_protocol", func(p *packets.Packet) { p.IPv4.Protocol = 255 }},
	{"VLAN", "drop_vlan", func(p *packets.Packet) { *p = p.Tagged(5) }},
	{"QinQ", "drop_vlan", func(p *packets.Packet) { *p = p.Tagged(5).Tagged(6); p.VLANs[0].TPID = 0x88a8 }},
	{"MPLS", "drop_ethertype", func(p *packets.Packet) { p.Ethernet.Type = 0x8847 }},
	{"an unassigned ethertype", "drop_ethertype", func(p *packets.Packet) { p.Ethernet.Type = 0x88b5 }},
	{"a length for an ethertype", "drop_ethertype", func(p *packets.Packet) { p.Ethernet.Type = 60 }},
	{"from 0.0.0.0", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Source = netip.IPv4Unspecified() }},
	{"from loopback", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Source = netip.MustParseAddr("127.0.0.1") }},
	{"from multicast", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Source = netip.MustParseAddr("224.0.0.5") }},
	{"from class E", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Source = netip.MustParseAddr("240.0.0.1") }},
	{"to loopback", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Destination = netip.MustParseAddr("127.0.0.1") }},
	{"to 0.0.0.0", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Destination = netip.IPv4Unspecified() }},
	{"to class E", "drop_bad_address", func(p *packets.Packet) { p.IPv4.Destination = netip.MustParseAddr("250.1.1.1") }},
	{"to multicast", "drop_multicast", func(p *packets.Packet) { p.IPv4.Destination = netip.MustParseAddr("239.0.0.1") }},
}

func TestDrops(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, c := range drops {
		for _, p := range []packets.Packet{udp(inA, server), udp(server, out)} {
			public := p.IPv4.Source == server.Addr()
			frame := addressed(p).Change(c.bend).Bytes()
			if c.name == "IP version 6 in an IPv4 frame" {
				frame = addressed(p).Bytes()
				frame[14] = 0x65
			}
			r := g.send(public, frame)
			if r.action != dataplane.Drop || r.reason != c.reason {
				t.Errorf("%s, from outside %v: %v, %s, want %s", c.name, public, r.action, r.reason, c.reason)
			}
		}
	}
	g.count(1)
}

func TestDropsTCP(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for name, bend := range map[string]func(*packets.Packet){
		"data offset 4":                  func(p *packets.Packet) { p.TCP.DataOffset = 4 },
		"data offset beyond the packet":  func(p *packets.Packet) { p.TCP.DataOffset = 15 },
		"no room for the header":         func(p *packets.Packet) { p.IPv4.TotalLength = 39 },
		"source port 0":                  func(p *packets.Packet) { p.TCP.Source = 0 },
		"destination port 0":             func(p *packets.Packet) { p.TCP.Destination = 0 },
		"an ICMP header of seven octets": func(p *packets.Packet) { *p = packets.NewEcho(hostA, remote, 1, 1); p.IPv4.TotalLength = 27 },
		"an ICMP error that quotes none": func(p *packets.Packet) { *p = packets.NewICMP(hostA, remote, 3, 3, 0, nil) },
		"an ICMP error that quotes IPv6": func(p *packets.Packet) {
			*p = packets.NewICMP(hostA, remote, 3, 3, 0, append([]byte{0x60}, make([]byte, 60)...))
		},
		"an ICMP error that quotes a bit": func(p *packets.Packet) { *p = packets.NewICMP(hostA, remote, 3, 3, 0, udp(server, inA).Network()[:27]) },
	} {
		if r := g.send(false, inside(change(tcp(inA, web, packets.SYN), bend).Between(packets.HostMAC, packets.GatewayPrivateMAC)).Bytes()); r.reason != "drop_malformed" {
			t.Errorf("%s: %v, %s", name, r.action, r.reason)
		}
	}
	g.count(0)
}

// Every frame too short for its headers, and every cut of a good one.
func TestShortFrames(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	frame := inside(udp(inA, server)).Bytes()
	for n := range len(frame) {
		if runs(frame[:n]) {
			g.dropped(g.send(false, frame[:n]), "drop_malformed")
		}
	}
	arp := packets.NewARPRequest(packets.RouterMAC, router, pool1).Bytes()
	for n := range 42 {
		if runs(arp[:n]) {
			g.dropped(g.send(true, arp[:n]), "drop_malformed")
		}
	}
	six := packets.NewUDP(packets.At("[2001:db8::1]:1"), packets.At("[2001:db8::2]:2"), "").Between(packets.RouterMAC, packets.GatewayPublicMAC).Bytes()
	for n := range 54 {
		if runs(six[:n]) {
			g.dropped(g.send(true, six[:n]), "drop_malformed")
		}
	}
}

// A checksum that is right, and by chance the pseudo-header's sum, is no partial
// one.
func TestRightChecksumThatLooksPartial(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, protocol := range []model.Protocol{model.UDP, model.TCP} {
		var found bool
		for word := range 1 << 16 {
			payload := string(binary.BigEndian.AppendUint16(nil, uint16(word)))
			p := packets.NewUDP(inA, server, payload)
			partial := p.Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumPartial })
			at := 40
			if protocol == model.TCP {
				p = packets.NewTCP(inA, server, packets.SYN, payload)
				partial = p.Change(func(p *packets.Packet) { p.TCP.Checksum = packets.ChecksumPartial })
				at = 50
			}
			if binary.BigEndian.Uint16(p.Bytes()[at:]) != binary.BigEndian.Uint16(partial.Bytes()[at:]) {
				continue
			}
			found = true
			r := g.put(p)
			g.forwarded(r)
			break
		}
		same(g, protocol.String()+" has such a payload", found, true)
	}
}

// IP options travel with their packet.
func TestOptions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for octets := 4; octets <= 40; octets += 4 {
		g.leaves(g.put(udp(inA, server).Change(options(octets))), udp(endpoint(outbound, 40000), server).Change(options(octets)))
		g.leaves(g.put(udp(server, endpoint(outbound, 40000)).Change(options(octets))), udp(server, inA).Change(options(octets)))
		tp := tcp(inA, web, packets.SYN).Change(options(octets))
		g.leaves(g.put(tp), tcp(endpoint(outbound, 40000), web, packets.SYN).Change(options(octets)))
	}
	p := ttl1(udp(inA, server)).Change(options(40))
	g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
}

// A UDP checksum of zero stays; a computed one never becomes zero.
func TestUDPChecksums(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	zero := func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }
	g.leaves(g.put(udp(inA, server).Change(zero)), udp(endpoint(outbound, 40000), server).Change(zero))
	for word := range 1 << 16 {
		p := packets.NewUDP(endpoint(outbound, 40000), server, string(binary.BigEndian.AppendUint16(nil, uint16(word))))
		if binary.BigEndian.Uint16(p.Bytes()[40:]) != 0xffff {
			continue
		}
		r := g.put(packets.NewUDP(inA, server, string(p.Payload)))
		same(g, "checksum", binary.BigEndian.Uint16(r.frame[40:]), 0xffff)
		return
	}
	t.Fatal("no payload gives that checksum")
}

func TestTTL(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, ttl := range []uint8{0, 1} {
		p := udp(inA, server).Change(func(p *packets.Packet) { p.IPv4.TTL = ttl })
		g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
		p = udp(endpoint(hostB, 1), server).Change(func(p *packets.Packet) { p.IPv4.TTL = ttl }) // no session
		g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
		p = udp(server, out).Change(func(p *packets.Packet) { p.IPv4.TTL = ttl })
		g.refused(g.put(p), p, "drop_ttl_expired", publicAddress, packets.TimeExceeded, 0, 0)
	}
	two := func(p *packets.Packet) { p.IPv4.TTL = 2 }
	g.leaves(g.put(udp(inA, server).Change(two)), udp(out, server).Change(two))
	g.count(1)
}
