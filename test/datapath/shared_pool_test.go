package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// A pool address that the gateway has on an interface too is lent all the same;
// what nobody lent is the gateway's, to those outside.
func TestPoolAddressOfTheGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.share(pool1.String() + "/24")
	to := endpoint(hostB, 8080)
	g.lend(pool1, 80, to, nil)
	a := endpoint(outbound, inA.Port())
	g.leaves(g.put(tcp(inA, lent, packets.SYN)), tcp(a, to, packets.SYN))
	g.leaves(g.put(tcp(to, a, synAck)), tcp(lent, inA, synAck))
	g.lend(pool1, 443, to, nil)
	public := endpoint(pool1, 443)
	g.established(client, public, to)
	for _, p := range []packets.Packet{
		tcp(client, endpoint(pool1, 22), packets.SYN), tcp(client, endpoint(pool1, 22), packets.ACK), udp(client, endpoint(pool1, 53)),
		echo(remote, pool1, 3), echoReply(remote, pool1, 3),
	} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	g.count(3) // the hairpin's two ends, and the client's
}

// What one of our outbound addresses has at the same port is no matter.
func TestPoolAddressOfTheGatewayAndAMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(tcp(endpoint(hostB, 8443), web, packets.SYN))
	same(g, "outside endpoint", out, endpoint(outbound, 8443))
	g.share(pool1.String() + "/24")
	public := endpoint(pool1, 8443)
	for _, to := range []netip.AddrPort{public, endpoint(pool1, 8444)} {
		p := tcp(client, to, packets.SYN)
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
		g.dropped(g.put(tcp(inA, to, packets.SYN)), "drop_no_binding")
	}
	g.lend(pool1, 8443, service, nil)
	g.leaves(g.put(tcp(inB, public, packets.SYN)), tcp(endpoint(outbound, inB.Port()), service, packets.SYN))
}

// The address may come and go while it is lent.
func TestPoolAddressLeavesTheGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.share(pool1.String() + "/24")
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	g.takeAway(pool1.String() + "/24")
	g.in(g.data.Refresh)
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	g.dropped(g.put(udp(client, lent)), "drop_no_binding")
	g.dropped(g.put(udp(inB, lent)), "drop_no_binding")
}
