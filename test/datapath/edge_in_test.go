package datapath

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// theirs is the header that the other edge writes.
func theirs() tunnel.Header {
	return tunnel.Header{Local: otherEdge, Remote: publicAddress, SourcePort: 50001, VNI: edgeLink.Here, Epoch: epochIn, Key: keyIn}
}

// returned is a packet to a pact's host as the other edge sends it.
func returned(p packets.Packet, pact datapath.Pact) packets.Packet {
	return p.Change(func(p *packets.Packet) { p.IPv4.Source, p.IPv4.Destination = tag(pact.Peer), tag(pact.Own) })
}

// inTunnel is a frame of an outer packet.
func inTunnel(outer []byte) []byte {
	link := outside(udp(server, endpoint(publicAddress, 6081))).Bytes()[:14]
	return append(link, outer...)
}

// fromEdge puts in a packet to a pact's host, from its proxy address, as the other edge sends it.
func (g *gateway) fromEdge(pact datapath.Pact, p packets.Packet) result {
	g.t.Helper()
	return g.send(true, inTunnel(tunnel.Encapsulate(theirs(), returned(p, pact).Network())))
}

// edgeCount is what the link has counted.
func (g *gateway) edgeCount() datapath.EdgeCount {
	g.t.Helper()
	return must(g.data.EdgeCounts())(g.t)[edgeLink.Number]
}

// A flow that the other edge opens comes to the host's own port from its proxy address, and its answers go back.
func TestEdgeIn(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	client := endpoint(proxyA, 40000)
	port, own := endpoint(hostA, 80), endpoint(hostA, 8080)
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
	g.sends(g.put(tcp(own, client, synAck)), tagged(tcp(port, client, synAck), a))
	g.leaves(g.fromEdge(a, tcp(client, port, packets.ACK)), tcp(client, own, packets.ACK))
	g.leaves(g.fromEdge(a, with(tcp(client, port, packets.ACK), "some data")), with(tcp(client, own, packets.ACK), "some data"))
	s := g.sessions()
	if len(s) != 1 || s[0].Origin != "edge_in" || s[0].Private != own || s[0].Remote != client || s[0].External != endpoint(netip.IPv4Unspecified(), 80) ||
		s[0].State != "established" {
		t.Fatalf("sessions %+v", s)
	}
	c := g.edgeCount()
	if c.Packets != [2]uint64{1, 3} || c.Octets != [2]uint64{40, 129} || c.Refused != 0 {
		t.Errorf("counted %+v", c)
	}
	check(t, g.data.Pacts(func(p datapath.Pact) bool {
		if p.Own == a.Own && (p.Sessions != 1 || p.Used == 0) {
			t.Errorf("pact %+v", p)
		}
		return true
	}))
	g.leaves(g.fromEdge(a, tcp(client, port, packets.RST)), tcp(client, own, packets.RST))
}

// What the host opened has its answers, of each kind.
func TestEdgeAnswers(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	for name, p := range map[string][2]packets.Packet{
		"UDP":               {udp(inA, endpoint(proxyA, 53)), udp(endpoint(proxyA, 53), inA)},
		"UDP without a sum": {udp(inA, endpoint(proxyA, 54)), udp(endpoint(proxyA, 54), inA).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero })},
		"TCP":               {tcp(inA, endpoint(proxyA, 80), packets.SYN), tcp(endpoint(proxyA, 80), inA, synAck)},
		"ping":              {echo(hostA, proxyA, 9), echoReply(proxyA, hostA, 9)},
		// A port that stands for a service of the host's is its own, too.
		"from a port of a service": {tcp(endpoint(hostA, 80), endpoint(proxyA, 81), packets.SYN), tcp(endpoint(proxyA, 81), endpoint(hostA, 80), synAck)},
		"IP options":               {udp(inA, endpoint(proxyA, 55)), udp(endpoint(proxyA, 55), inA).Change(withOptions(otherOptions["router alert"]))},
		"GRE":                      {basics["GRE"](hostA, proxyA), basics["GRE"](proxyA, hostA)},
	} {
		g.sends(g.put(p[0]), tagged(p[0], a))
		r := g.fromEdge(a, p[1])
		if r.reason != "forwarded" {
			t.Fatalf("%s: %v, %s", name, r.action, r.reason)
		}
		g.leaves(r, p[1])
	}
	for _, s := range g.sessions() {
		if s.Origin != "edge_out" {
			t.Errorf("session %+v", s)
		}
	}
}

// What the pact does not let in opens nothing.
func TestEdgeOpensNothingElse(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	client := endpoint(proxyA, 40000)
	g.dropped(g.fromEdge(a, tcp(client, endpoint(hostA, 81), packets.SYN)), "drop_pact_service")
	g.dropped(g.fromEdge(a, tcp(client, endpoint(hostA, 8080), packets.SYN)), "drop_pact_service")
	g.dropped(g.fromEdge(a, udp(client, endpoint(hostA, 80))), "drop_pact_service")
	g.dropped(g.fromEdge(a, tcp(client, endpoint(hostA, 80), packets.ACK)), "drop_not_syn")
	g.dropped(g.fromEdge(a, echoReply(proxyA, hostA, 3)), "drop_no_session")
	g.leaves(g.fromEdge(a, echo(proxyA, hostA, 3)), echo(proxyA, hostA, 3))
	a.Ping = false
	check(t, g.data.ChangePact(a))
	g.dropped(g.fromEdge(a, echo(proxyA, hostA, 4)), "drop_pact_service")
	a.Whole = true
	check(t, g.data.ChangePact(a))
	g.leaves(g.fromEdge(a, udp(client, endpoint(hostA, 999))), udp(client, endpoint(hostA, 999)))
	b.In = false
	check(t, g.data.ChangePact(b))
	g.dropped(g.fromEdge(b, tcp(endpoint(proxyB, 1), endpoint(hostB, 80), packets.SYN)), "drop_pact_direction")
	g.sends(g.put(udp(inB, endpoint(proxyB, 5))), tagged(udp(inB, endpoint(proxyB, 5)), b))
	g.leaves(g.fromEdge(b, udp(endpoint(proxyB, 5), inB)), udp(endpoint(proxyB, 5), inB))
}

// Whoever is not the other edge, or does not write as it would, changes nothing and reaches nobody.
func TestForged(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	p := tcp(endpoint(proxyA, 40000), endpoint(hostA, 80), packets.SYN)
	inner := returned(p, a).Network()
	octets := func(at int, values ...byte) func([]byte) {
		return func(outer []byte) { copy(outer[at:], values) }
	}
	flip := func(at int) func([]byte) { return func(outer []byte) { outer[at] ^= 1 } }
	repaired := func(change func([]byte)) func([]byte) { // its header's checksum is right
		return func(outer []byte) {
			change(outer)
			copy(outer[10:], []byte{0, 0})
			binary.BigEndian.PutUint16(outer[10:], ^onesSum(outer[:20]))
		}
	}
	other := theirs()
	for name, c := range map[string]struct {
		reason model.Reason
		header func(*tunnel.Header)
		outer  func([]byte)
		inner  []byte
	}{
		"another key":                  {reason: "drop_edge_forged", header: func(h *tunnel.Header) { h.Key[15] ^= 0x80 }},
		"the key that we send with":    {reason: "drop_edge_forged", header: func(h *tunnel.Header) { h.Key = keyOut }},
		"a bit of the authenticator":   {reason: "drop_edge_forged", outer: flip(47)},
		"a bit of the sender's tag":    {reason: "drop_edge_forged", outer: flip(48 + 15)},
		"a bit of our tag":             {reason: "drop_edge_forged", outer: flip(48 + 19)},
		"another protocol":             {reason: "drop_edge_forged", outer: octets(48+9, 17)},
		"made a fragment":              {reason: "drop_edge_forged", outer: octets(48+6, 0x20, 0)},
		"a bit of the source port":     {reason: "drop_edge_forged", outer: flip(48 + 21)},
		"a bit of the port":            {reason: "drop_edge_forged", outer: flip(48 + 23)},
		"a bit of the sequence":        {reason: "drop_edge_forged", outer: flip(48 + 27)},
		"an epoch that is over":        {reason: "drop_edge_epoch", header: func(h *tunnel.Header) { h.Epoch = epochIn - 2 }},
		"one that is to come":          {reason: "drop_edge_epoch", header: func(h *tunnel.Header) { h.Epoch = epochIn + 1 }},
		"a VNI of nobody":              {reason: "drop_edge_link", header: func(h *tunnel.Header) { h.VNI++ }},
		"another use of the number":    {reason: "drop_edge_link", header: func(h *tunnel.Header) { h.VNI ^= 1 << 23 }},
		"no VNI":                       {reason: "drop_edge_link", header: func(h *tunnel.Header) { h.VNI = 0 }},
		"from elsewhere":               {reason: "drop_edge_source", header: func(h *tunnel.Header) { h.Local = remote2 }},
		"a tag of another pact":        {reason: "drop_edge_tag", inner: returned(p, datapath.Pact{Own: b.Own, Peer: a.Peer}).Network()},
		"a tag of nobody":              {reason: "drop_edge_tag", inner: returned(p, datapath.Pact{Own: a.Own + 1<<16, Peer: a.Peer}).Network()},
		"no tag":                       {reason: "drop_edge_tag", inner: returned(p, datapath.Pact{Peer: a.Peer}).Network()},
		"a number beyond all":          {reason: "drop_edge_tag", inner: returned(p, datapath.Pact{Own: 0x5100ffff, Peer: a.Peer}).Network()},
		"a fragment":                   {reason: "drop_edge_fragment", outer: repaired(octets(6, 0x20, 0)), inner: returned(with(p, "1234"), a).Network()},
		"a checksum of UDP":            {reason: "drop_edge_malformed", outer: octets(26, 0x12, 0x34)},
		"a short UDP":                  {reason: "drop_edge_malformed", outer: octets(24, 0, 60)},
		"a version of GENEVE":          {reason: "drop_edge_malformed", outer: octets(28, 0x43)},
		"fewer options":                {reason: "drop_edge_malformed", outer: octets(28, 2)},
		"no critical option":           {reason: "drop_edge_malformed", outer: octets(29, 0)},
		"Ethernet inside":              {reason: "drop_edge_malformed", outer: octets(30, 0x65, 0x58)},
		"another class":                {reason: "drop_edge_malformed", outer: octets(36, 0xff, 0x53)},
		"an option of no need":         {reason: "drop_edge_malformed", outer: octets(38, epochIn)},
		"a longer option":              {reason: "drop_edge_malformed", outer: octets(39, 3)},
		"IPv6 inside":                  {reason: "drop_edge_malformed", outer: octets(48, 0x65)},
		"a short header inside":        {reason: "drop_edge_malformed", outer: octets(48, 0x44)},
		"a length that differs":        {reason: "drop_edge_malformed", outer: octets(50, 0, 39)},
		"congestion of who knows none": {reason: "drop_edge_malformed", header: func(h *tunnel.Header) { h.TOS = 3 }},
		"a header's checksum inside":   {reason: "drop_bad_checksum", outer: flip(48 + 10)},
		"cut short":                    {reason: "drop_edge_malformed", inner: inner[:19]},
	} {
		h, within := other, inner
		if c.header != nil {
			c.header(&h)
		}
		if c.inner != nil {
			within = c.inner
		}
		outer := tunnel.Encapsulate(h, within)
		if c.outer != nil {
			c.outer(outer)
		}
		if r := g.send(true, inTunnel(outer)); r.reason != c.reason || !r.reason.IsDrop() || r.action != dataplane.Drop {
			t.Errorf("%s: %v, %s, want %s", name, r.action, r.reason, c.reason)
		}
	}
	g.count(0)
	same(g, "sum", g.edgeCount().Packets, [2]uint64{0, 1}) // the one whose header inside is wrong
	l := edgeLink
	l.Banned = true
	check(t, g.data.PutEdgeLink(l))
	g.dropped(g.fromEdge(a, p), "drop_banned")
	answer := udp(inA, endpoint(proxyA, 1))
	g.refused(g.put(answer), answer, "drop_no_link", privateAddress, packets.DestinationUnreachable, 1, 0)
	check(t, g.data.PutEdgeLink(edgeLink)) // its keys have stayed
	g.leaves(g.fromEdge(a, p), tcp(endpoint(proxyA, 40000), endpoint(hostA, 8080), packets.SYN))
	g.dropped(g.fromOutside(p), "drop_not_for_us")
}

// onesSum is the sum of RFC 1071.
func onesSum(octets []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(octets); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(octets[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}
