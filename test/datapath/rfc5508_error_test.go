package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/frames"
)

func TestRFC5508_REQ3_BadChecksumDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	bad := func(p *packets.Packet) { p.ICMP.Checksum = packets.ChecksumBad }
	g.dropped(g.put(unreachable(hop, 1, 0, udp(out, server), 8).Change(bad)), "drop_bad_checksum")
	g.dropped(g.put(unreachable(hostA, 3, 0, udp(server, inA), 8).Change(bad)), "drop_bad_checksum")
}

func TestRFC5508_REQ3a_BadEmbeddedChecksumDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	bad := func(p *packets.Packet) { p.IPv4.Checksum = packets.ChecksumBad }
	g.dropped(g.put(unreachable(hop, 1, 0, udp(out, server).Change(bad), 8)), "drop_bad_checksum")
	g.dropped(g.put(unreachable(hostA, 3, 0, udp(server, inA).Change(bad), 8)), "drop_bad_checksum")
	withOptions := udp(out, server).Change(bad).Change(options(40))
	g.dropped(g.put(unreachable(hop, 1, 0, withOptions, 8)), "drop_bad_checksum")
}

// options puts as many octets of IP options in: a record route with room.
func options(octets int) func(*packets.Packet) {
	return func(p *packets.Packet) {
		p.IPv4.Options = make([]byte, octets)
		copy(p.IPv4.Options, []byte{7, byte(octets - 1), 4})
	}
}

func TestRFC5508_REQ3b_EmbeddedOptions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	tout := g.mapped(tcp(inA, web, packets.SYN))
	for _, octets := range []int{4, 12, 40} {
		for _, keep := range []int{8, -1} {
			g.leaves(g.put(unreachable(hop, 1, 0, udp(out, server).Change(options(octets)), keep)),
				unreachable2(hop, hostA, 1, udp(inA, server).Change(options(octets)), keep))
			g.leaves(g.put(unreachable(hop, 1, 0, tcp(tout, web, packets.ACK).Change(options(octets)), keep)),
				unreachable2(hop, hostA, 1, tcp(inA, web, packets.ACK).Change(options(octets)), keep))
		}
	}
	// Options of the error itself.
	g.leaves(g.put(unreachable(hop, 1, 0, udp(out, server), 8).Change(options(8))),
		unreachable2(hop, hostA, 1, udp(inA, server), 8).Change(options(8)))
}

func TestRFC5508_REQ3c_EmbeddedTransportUnjudged(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	wrong := func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumBad }
	r := g.put(unreachable(hop, 1, 0, udp(out, server).Change(wrong), 8))
	same(g, "destination", g.forwarded(r).IPv4.Destination, hostA)
	same(g, "outer checksum", r.packet.ICMP.Checksum, packets.ChecksumValid)
	zero := func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }
	g.leaves(g.put(unreachable(hop, 1, 0, udp(out, server).Change(zero), 8)), unreachable2(hop, hostA, 1, udp(inA, server).Change(zero), 8))
}

func TestRFC5508_REQ3d_Extensions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(tcp(inA, web, packets.SYN))
	// RFC 4884: 128 octets of the original, then a structure of its own.
	extended := func(to netip.Addr, original packets.Packet) packets.Packet {
		quote := make([]byte, 128, 140)
		copy(quote, original.Network())
		quote = append(quote, 0x20, 0, 0, 0, 0, 8, 1, 1, 0, 1, 2, 3)
		return packets.NewICMP(hop, to, packets.TimeExceeded, 0, 32<<16, quote)
	}
	g.leaves(g.put(extended(outbound, tcp(out, web, packets.SYN))), extended(hostA, tcp(inA, web, packets.SYN)))
}

func TestRFC5508_REQ4_ErrorFromOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.dropped(g.put(unreachable(hop, 1, 0, udp(endpoint(outbound, 40000), server), 8)), "drop_no_session")
	out := g.mapped(udp(inA, server))
	g.leaves(g.put(unreachable(hop, 1, 0, udp(out, server), 8)), unreachable2(hop, hostA, 1, udp(inA, server), 8))
	g.dropped(g.put(unreachable(hop, 1, 0, udp(out, server2), 8)), "drop_no_session")
	g.dropped(g.put(unreachable2(hop, pool1, 1, udp(out, server), 8)), "drop_no_session") // quotes another's packet
}

// reverted lists packets of every protocol as inside and outside see them.
func reverted(g *gateway) (within, without []packets.Packet) {
	g.t.Helper()
	service, client := endpoint(hostA, 8080), endpoint(remote2, 50000)
	for _, p := range []packets.Packet{
		udp(inA, server), tcp(inA, web, packets.SYN), tcp(inA, web, packets.PSH|packets.ACK), echo(hostA, remote, 40000),
		udp(inA, server).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }),
	} {
		g.put(p.Change(func(p *packets.Packet) { // someone else has the port
			p.IPv4.Source = hostB
		}))
		out := g.forwarded(g.put(p)).Tuple().Source
		within = append(within, p)
		without = append(without, p.Change(func(p *packets.Packet) {
			p.IPv4.Source = out.Addr()
			switch {
			case p.UDP != nil:
				p.UDP.Source = out.Port()
			case p.TCP != nil:
				p.TCP.Source = out.Port()
			default:
				p.ICMP.Rest = uint32(out.Port())<<16 | uint32(p.ICMP.Sequence())
			}
		}))
	}
	g.lend(pool1, 80, service, nil)
	g.established(client, endpoint(pool1, 80), service)
	return append(within, tcp(service, client, packets.ACK)), append(without, tcp(endpoint(pool1, 80), client, packets.ACK))
}

func TestRFC5508_REQ4a_EmbeddedReverted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	within, without := reverted(g)
	for i := range within {
		for _, keep := range []int{8, 20, -1} {
			g.leaves(g.put(unreachable(hop, 1, 0, without[i], keep)), unreachable2(hop, hostA, 1, within[i], keep))
		}
	}
}

func TestRFC5508_REQ4b_TypeAndCodeKept(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, c := range []struct{ icmpType, code uint8 }{{3, 0}, {3, 4}, {3, 13}, {11, 0}, {11, 1}, {12, 0}, {12, 1}, {3, 255}} {
		r := g.put(packets.NewICMPError(hop, outbound, c.icmpType, c.code, 1400, udp(out, server), 8))
		p := g.forwarded(r)
		same(g, "type", p.ICMP.Type, c.icmpType)
		same(g, "code", p.ICMP.Code, c.code)
		same(g, "the rest", p.ICMP.Rest, 1400)
	}
}

func TestRFC5508_REQ4c_OuterDestination(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	p := g.forwarded(g.put(unreachable(hop, 1, 0, udp(out, server), 8)))
	inner := must(frames.Embedded(p))(t)
	same(g, "outer destination", p.IPv4.Destination, inner.IPv4.Source)
	same(g, "embedded source", inner.IPv4.Source, hostA)
	same(g, "outer source", p.IPv4.Source, hop)
}

func TestRFC5508_REQ5_ErrorFromInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.dropped(g.put(unreachable(hostA, portUnreachable, 0, udp(server, inA), 8)), "drop_no_session")
	out := g.mapped(udp(inA, server))
	g.leaves(g.put(unreachable(hostA, portUnreachable, 0, udp(server, inA), 8)),
		unreachable2(outbound, remote, portUnreachable, udp(server, out), 8))
	g.dropped(g.put(unreachable(hostA, portUnreachable, 0, udp(server2, inA), 8)), "drop_no_session")
	g.dropped(g.put(unreachable2(hostA, remote2, portUnreachable, udp(server, inA), 8)), "drop_no_session")
}

func TestRFC5508_REQ5a_EmbeddedReverted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	within, without := reverted(g)
	for i := range within {
		in, out := answer(within[i]), answer(without[i])
		for _, keep := range []int{8, 20, -1} {
			g.leaves(g.put(unreachable(hostA, portUnreachable, 0, in, keep)), unreachable2(out.IPv4.Destination, in.IPv4.Source, portUnreachable, out, keep))
		}
	}
}

// answer is a packet in the other direction.
func answer(p packets.Packet) packets.Packet {
	return p.Change(func(p *packets.Packet) {
		p.IPv4.Source, p.IPv4.Destination = p.IPv4.Destination, p.IPv4.Source
		switch {
		case p.UDP != nil:
			p.UDP.Source, p.UDP.Destination = p.UDP.Destination, p.UDP.Source
		case p.TCP != nil:
			p.TCP.Source, p.TCP.Destination = p.TCP.Destination, p.TCP.Source
		default:
			p.ICMP.Type = packets.EchoReply
		}
	})
}

func TestRFC5508_REQ5b_TypeAndCodeKept(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	for _, c := range []struct{ icmpType, code uint8 }{{3, 3}, {3, 4}, {11, 1}, {12, 0}} {
		p := g.forwarded(g.put(packets.NewICMPError(hostA, remote, c.icmpType, c.code, 576, udp(server, inA), 8)))
		same(g, "type", p.ICMP.Type, c.icmpType)
		same(g, "code", p.ICMP.Code, c.code)
		same(g, "the rest", p.ICMP.Rest, 576)
	}
}

func TestRFC5508_REQ5c_OuterSource(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	for _, from := range []netip.Addr{hostA, insideHop} {
		r := g.put(unreachable(from, portUnreachable, 0, udp(server, inA), 8))
		same(g, "outer source", g.forwarded(r).IPv4.Source, outbound)
	}
}

func TestRFC5508_REQ6_ErrorsRefreshNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	g.idle(200 * time.Second)
	g.forwarded(g.put(unreachable(hop, 1, 0, udp(out, server), 8)))
	g.forwarded(g.put(unreachable(hostA, portUnreachable, 0, udp(server, inA), 8)))
	g.count(1)
	g.idle(101 * time.Second)
	g.count(0)
}

func TestRFC5508_REQ7_HairpinError(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	a, b := g.mapped(udp(inA, server)), g.mapped(udp(inB, server))
	g.leaves(g.put(udp(inA, b)), udp(a, inB))
	for _, keep := range []int{8, -1} {
		g.leaves(g.put(unreachable(hostB, portUnreachable, 0, udp(a, inB), keep)),
			unreachable2(b.Addr(), hostA, portUnreachable, udp(inA, b), keep))
	}
	// From outside nobody can have seen the packet.
	g.dropped(g.put(unreachable(hop, 1, 0, udp(a, b), 8)), "drop_spoofed_source")
}

func TestRFC5508_REQ7a_HairpinErrorDestination(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	a, b := g.mapped(udp(inA, server)), g.mapped(udp(inB, server))
	g.forwarded(g.put(udp(inA, b)))
	p := g.forwarded(g.put(unreachable(hostB, portUnreachable, 0, udp(a, inB), 8)))
	same(g, "outer destination", p.IPv4.Destination, must(frames.Embedded(p))(t).IPv4.Source)
	same(g, "outer destination", p.IPv4.Destination, hostA)
}
