package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// back is a packet to a pact's host as the other edge sent it.
func back(p packets.Packet, pact datapath.Pact) packets.Packet {
	return p.Change(func(p *packets.Packet) { p.IPv4.Source, p.IPv4.Destination = tag(pact.Peer), tag(pact.Own) })
}

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
				want := packets.NewICMPError(tag(a.Own), tag(a.Peer), packets.DestinationUnreachable, portUnreachable, 0, back(original, a), keep)
				g.sends(g.put(sent), want)
			}
		}
	}
	// A packet that had no hop left has opened no session: the pact says how the other edge knows the port.
	unopened := tcp(endpoint(proxyA, 999), endpoint(hostA, 8080), packets.SYN)
	late := func(from netip.Addr) packets.Packet {
		return packets.NewICMPError(from, proxyA, packets.TimeExceeded, 0, 0, unopened, 8)
	}
	known := back(tcp(endpoint(proxyA, 999), endpoint(hostA, 80), packets.SYN), a)
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
