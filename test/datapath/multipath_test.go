package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/multipath"
)

// balanced puts paths to port 80 of both hosts into force for a port of the outbound
// address.
func (g *gateway) balanced(paths *multipath.Paths) {
	g.t.Helper()
	g.forwards([]forward{{to: outbound, protocol: model.TCP, port: shop.Port(), function: multipath.Multipath{Paths: paths}}})
}

func pathsTo(backends ...netip.Addr) *multipath.Paths {
	var list []multipath.Backend
	for _, a := range backends {
		list = append(list, multipath.Backend{To: a, Port: 80, Weight: 1})
	}
	return multipath.NewPaths(list)
}

// to sends a SYN and returns the host that it reaches.
func (g *gateway) to(port uint16) netip.Addr {
	g.t.Helper()
	return g.forwarded(g.put(tcp(endpoint(remote, port), shop, packets.SYN))).IPv4.Destination
}

// Flows reach all backends that are up, and only these, from the next one on when that
// changes; one flow's packets reach one backend. With no backend flows are dropped.
func TestMultipathSpreadsFlows(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	paths := pathsTo(hostA, hostB)
	t.Cleanup(paths.Close)
	g.balanced(paths)
	reached := map[netip.Addr]int{}
	for port := uint16(1000); port < 1100; port++ {
		host := g.to(port)
		reached[host]++
		same(g, "host of the same flow", g.to(port), host)
		client, at := endpoint(remote, port), endpoint(host, 80)
		g.leaves(g.put(tcp(at, client, synAck)), tcp(shop, client, synAck))
	}
	if reached[hostA] < 20 || reached[hostB] < 20 {
		t.Errorf("of 100 flows: %v", reached)
	}
	check(t, paths.Set(0, false))
	for port := uint16(2000); port < 2030; port++ {
		same(g, "host while A is down", g.to(port), hostB)
	}
	check(t, paths.Set(1, false))
	g.dropped(g.put(tcp(endpoint(remote, 3000), shop, packets.SYN)), "drop_denied")
	check(t, paths.Set(0, true))
	same(g, "host while B is down", g.to(3000), hostA)
	g.sound()
}

// An open flow stays with its backend, whether that is down or its table says another by
// now, and also when the policy changes, as long as the backend is one of the function's.
func TestMultipathLeavesOpenFlowsAlone(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	paths := pathsTo(hostA, hostB)
	t.Cleanup(paths.Close)
	g.balanced(paths)
	check(t, paths.Set(1, false))
	var talks []netip.AddrPort
	for port := uint16(1000); port < 1020; port++ { // some of them B would have
		same(g, "host", g.to(port), hostA)
		talks = append(talks, endpoint(remote, port))
	}
	check(t, paths.Set(1, true))
	check(t, paths.Set(0, false))
	goOn := func() {
		t.Helper()
		for _, c := range talks {
			g.leaves(g.put(tcp(c, shop, packets.ACK)), tcp(c, endpoint(hostA, 80), packets.ACK))
		}
	}
	goOn()
	g.balanced(paths)
	goOn()
	others := pathsTo(hostB)
	t.Cleanup(others.Close)
	g.balanced(others)
	for _, c := range talks {
		g.dropped(g.put(tcp(c, shop, packets.ACK)), "drop_service_closed")
	}
	g.sound()
}
