package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// Errors about what came from the other edge go there as if its host's, whoever inside has sent them, and quote what was sent.
func TestEdgeErrorsOut(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to := endpoint(proxyA, 80)
	for _, p := range []packets.Packet{udp(inA, to), tcp(inA, to, packets.SYN), echo(hostA, proxyA, 7), basics["GRE"](hostA, proxyA)} {
		g.sends(g.put(p), tagged(p, a))
	}
	behind := netip.MustParseAddr("10.0.7.7") // a router inside
	for _, original := range []packets.Packet{
		udp(to, inA), tcp(to, inA, packets.SYN|packets.ACK), echoReply(proxyA, hostA, 7), basics["GRE"](proxyA, hostA),
		udp(to, inA).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }),
	} {
		for _, from := range []netip.Addr{hostA, behind} {
			for _, keep := range []int{8, -1} {
				sent := packets.NewICMPError(from, proxyA, packets.DestinationUnreachable, portUnreachable, 0, original, keep)
				want := packets.NewICMPError(tag(a.Own), tag(a.Peer), packets.DestinationUnreachable, portUnreachable, 0, returned(original, a), keep)
				g.sends(g.put(sent), want)
			}
		}
	}
	// A packet that had no hop left has opened no session: the pact says how the other edge knows the port.
	unopened := tcp(endpoint(proxyA, 999), endpoint(hostA, 8080), packets.SYN)
	late := func(from netip.Addr) packets.Packet {
		return packets.NewICMPError(from, proxyA, packets.TimeExceeded, 0, 0, unopened, 8)
	}
	known := returned(tcp(endpoint(proxyA, 999), endpoint(hostA, 80), packets.SYN), a)
	g.sends(g.put(late(hostA)), packets.NewICMPError(tag(a.Own), tag(a.Peer), packets.TimeExceeded, 0, 0, known, 8))
	g.dropped(g.put(late(behind)), "drop_no_session")

	quoting := func(original packets.Packet) packets.Packet {
		return packets.NewICMPError(hostA, proxyA, packets.DestinationUnreachable, portUnreachable, 0, original, 8)
	}
	for name, c := range map[string]struct {
		packet packets.Packet
		reason model.Reason
	}{
		"of another's packet":     {quoting(udp(to, inB)), "drop_no_session"},
		"of another proxy's":      {quoting(udp(endpoint(proxyB, 80), inA)), "drop_no_session"},
		"of what the host sent":   {quoting(udp(inA, to)), "drop_no_session"},
		"with a wrong sum":        {quoting(udp(to, inA)).Change(func(p *packets.Packet) { p.ICMP.Checksum = packets.ChecksumBad }), "drop_bad_checksum"},
		"with no hop left":        {quoting(udp(to, inA)).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 }), "drop_ttl_expired"},
		"of a fragment":           {quoting(udp(to, inA).Change(lastFragment)), "drop_quoted_fragment"},
		"to an address of nobody": {packets.NewICMPError(hostA, netip.MustParseAddr("172.31.9.9"), packets.DestinationUnreachable, portUnreachable, 0, udp(to, inA), 8), "drop_no_pact"},
	} {
		t.Log(name)
		g.dropped(g.put(c.packet), c.reason)
	}
}

// Errors about what a host sent come to it from the proxy address, and quote what it sent.
func TestEdgeErrorsIn(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	to, own, outside := endpoint(proxyA, 80), endpoint(hostA, 8080), endpoint(hostA, 80)
	client := endpoint(proxyA, 40000)
	for _, p := range []packets.Packet{udp(inA, to), tcp(inA, to, packets.SYN), echo(hostA, proxyA, 7), basics["GRE"](hostA, proxyA)} {
		g.sends(g.put(p), tagged(p, a))
	}
	g.leaves(g.fromEdge(a, tcp(client, outside, packets.SYN)), tcp(client, own, packets.SYN))
	// As the host knows it, and as the other edge does.
	for _, original := range [][2]packets.Packet{
		{udp(inA, to), udp(inA, to)},
		{tcp(inA, to, packets.ACK), tcp(inA, to, packets.ACK)},
		{echo(hostA, proxyA, 7), echo(hostA, proxyA, 7)},
		{basics["GRE"](hostA, proxyA), basics["GRE"](hostA, proxyA)},
		{tcp(own, client, packets.ACK), tcp(outside, client, packets.ACK)},
		{udp(inA, to).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }), udp(inA, to).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero })},
	} {
		for _, keep := range []int{8, -1} {
			about := func(original packets.Packet) packets.Packet {
				return packets.NewICMPError(proxyA, hostA, packets.DestinationUnreachable, fragmentationNeeded, 1300, original, keep)
			}
			g.leaves(g.fromEdge(a, about(tagged(original[1], a))), about(original[0]))
		}
	}
	g.count(5)
	quoting := func(original packets.Packet) packets.Packet {
		return packets.NewICMPError(proxyA, hostA, packets.TimeExceeded, 0, 0, original, 8)
	}
	for name, c := range map[string]struct {
		packet packets.Packet
		reason model.Reason
	}{
		"of a flow that is not":    {quoting(tagged(udp(endpoint(hostA, 9), to), a)), "drop_no_session"},
		"of another pact's":        {quoting(tagged(udp(inA, to), b)), "drop_no_session"},
		"that knows the inside":    {quoting(udp(inA, to)), "drop_no_session"},
		"of what came to it":       {quoting(returned(udp(to, inA), a)), "drop_no_session"},
		"with a wrong sum":         {quoting(tagged(udp(inA, to), a)).Change(func(p *packets.Packet) { p.ICMP.Checksum = packets.ChecksumBad }), "drop_bad_checksum"},
		"with no hop left":         {quoting(tagged(udp(inA, to), a)).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 }), "drop_ttl_expired"},
		"about the host's own NAT": {quoting(udp(endpoint(outbound, 40000), server)), "drop_no_session"},
	} {
		t.Log(name)
		g.dropped(g.fromEdge(a, c.packet), c.reason)
	}
}

// What a host cannot be given has an error that seems the host's: a trace shows the proxy address for all behind the other edge.
func TestEdgeTellsBack(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t, links(1500, 1300))
	client, port := endpoint(proxyA, 40000), endpoint(hostA, 80)
	about := func(kind, code uint8, rest uint32, original packets.Packet) packets.Packet {
		return packets.NewICMPError(tag(a.Own), tag(a.Peer), kind, code, rest, returned(original, a), 8).Change(func(p *packets.Packet) { p.IPv4.TOS = 0xc0 })
	}
	last := tcp(client, port, packets.SYN).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	tells := func(r result, reason model.Reason, want packets.Packet) {
		t.Helper()
		same(g, "why", r.reason, reason)
		r.reason = "forwarded"
		g.sends(r, want)
	}
	tells(g.fromEdge(a, last), "drop_ttl_expired", about(packets.TimeExceeded, 0, 0, last))
	g.count(0)
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, endpoint(hostA, 8080), packets.SYN))
	last = tcp(client, port, packets.ACK).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	tells(g.fromEdge(a, last), "drop_ttl_expired", about(packets.TimeExceeded, 0, 0, last))
	long := filled(tcp(client, port, packets.ACK), 1261).Change(func(p *packets.Packet) { p.IPv4.DF = true })
	tells(g.fromEdge(a, long), "drop_too_big", about(packets.DestinationUnreachable, fragmentationNeeded, 1300, long))
}
