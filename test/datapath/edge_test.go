package datapath

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// The other edge, and who is behind it.
var (
	proxies   = netip.MustParsePrefix("172.31.0.0/16")
	proxyA    = netip.MustParseAddr("172.31.0.5") // to hostA
	proxyB    = netip.MustParseAddr("172.31.1.9") // to hostB
	otherEdge = netip.MustParseAddr("203.0.113.9")
	edgeLink  = datapath.EdgeLink{Number: 7, Here: 0xabc007, There: 0x123456, Local: publicAddress, Remote: otherEdge, MTU: 1352}
	keyOut    = [16]byte{1, 2, 3}
	keyIn     = [16]byte{9, 8, 7}
)

const (
	epochOut = 3
	epochIn  = 4
)

// pactOf is one by which either side may open flows.
func pactOf(number uint16, host, proxy netip.Addr) datapath.Pact {
	return datapath.Pact{
		Number: number, Own: 0x51000000 | uint32(number), Peer: 0xe2000000 | uint32(number), Host: host, Proxy: proxy,
		Until: datapath.Now().Add(time.Hour), Link: edgeLink.Number, Out: true, In: true, Ping: true,
		Ways: []datapath.Way{{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.UDP, Port: 5000, To: 5000}},
	}
}

// newEdge is a gateway with a link to the other edge, and pacts of hostA and hostB.
func newEdge(t *testing.T, options ...option) (*gateway, datapath.Pact, datapath.Pact) {
	t.Helper()
	g := newGateway(t, options...)
	a, b := pactOf(1, hostA, proxyA), pactOf(2, hostB, proxyB)
	g.in(func() error {
		check(t, g.data.SetEdges(datapath.Edges{Proxy: proxies, Address: publicAddress, Port: 6081}))
		check(t, g.data.PutEdgeLink(edgeLink))
		check(t, g.data.PutEdgeKey(edgeLink.Number, true, epochOut, keyOut))
		check(t, g.data.PutEdgeKey(edgeLink.Number, false, epochIn, keyIn))
		check(t, g.data.PutPact(a))
		return g.data.PutPact(b)
	})
	return g, a, b
}

// What the daemon puts in it reads back, and what ends is gone.
func TestEdgeTables(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	pacts := func() (list []datapath.Pact) {
		check(t, g.data.Pacts(func(p datapath.Pact) bool { list = append(list, p); return true }))
		return list
	}
	for _, p := range []*datapath.Pact{&a, &b} {
		p.Until = p.Until >> 28 << 28 // a tick
	}
	same(g, "pacts", fmt.Sprint(pacts()), fmt.Sprint([]datapath.Pact{a, b}))
	var links []datapath.EdgeLink
	check(t, g.data.EdgeLinks(func(l datapath.EdgeLink) bool { links = append(links, l); return true }))
	same(g, "links", fmt.Sprint(links), fmt.Sprint([]datapath.EdgeLink{edgeLink}))

	b.In, b.Ways = false, nil
	check(t, g.data.ChangePact(b))
	same(g, "pacts after a change", fmt.Sprint(pacts()), fmt.Sprint([]datapath.Pact{a, b}))
	other := a
	other.Own += 1 << 16
	if g.data.PutPact(other) == nil || g.data.ChangePact(other) == nil {
		t.Error("a number that a pact has was given to another")
	}
	check(t, g.data.EndPacts(other.Own)) // nobody's
	check(t, g.data.EndPacts(a.Own))
	same(g, "pacts after an end", fmt.Sprint(pacts()), fmt.Sprint([]datapath.Pact{b}))
	check(t, g.data.PutPact(other)) // in its place
	check(t, g.data.EndEdgeLink(edgeLink.Number))
	if g.data.PutEdgeKey(edgeLink.Number, true, 4, keyOut) == nil || g.data.EndEdgeLink(edgeLink.Number) == nil {
		t.Error("a link that has ended was found")
	}
}

// Nothing to the proxy range leaves untunnelled, and nothing from it comes in so.
func TestProxyRangeIsOfPactsAlone(t *testing.T) {
	t.Parallel()
	g, _, _ := newEdge(t)
	for _, last := range []string{"172.31.0.0", "172.31.3.4", "172.31.255.255"} {
		nobody := netip.MustParseAddr(last)
		p := udp(inA, endpoint(nobody, 80))
		g.refused(g.put(p), p, "drop_no_pact", privateAddress, packets.DestinationUnreachable, 1, 0) // host unreachable
	}
	for _, beside := range []string{"172.30.255.255", "172.32.0.0"} {
		g.mapped(udp(inA, endpoint(netip.MustParseAddr(beside), 80)))
	}
	out := g.mapped(udp(inA, server))
	g.dropped(g.fromOutside(udp(endpoint(proxyA, 53), out)), "drop_spoofed_source")
	g.dropped(g.fromInside(udp(endpoint(proxyA, 53), server)), "drop_spoofed_source")
	check(t, g.data.SetEdges(datapath.Edges{}))
	g.mapped(udp(inA, endpoint(proxyA, 80)))
}
