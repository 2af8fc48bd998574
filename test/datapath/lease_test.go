package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// What a DHCP server offers goes to the address that nobody has yet, if the client does not ask for a broadcast. It was dropped:
// a client in whose kernel the data plane was lost its address for good when the lease changed. The kernel
// gets to see it, and cannot route it to whoever has the address.
func TestLeaseOfAnAddressThatNobodyHas(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	server := endpoint(router, 67)
	for _, to := range []netip.Addr{netip.MustParseAddr("198.18.0.99"), netip.MustParseAddr("203.0.113.9"), hostA} {
		lease := udp(server, endpoint(to, 68))
		kept := lease
		kept.IPv4.TTL = 1
		g.passed(g.fromOutside(outside(lease)), "to_gateway", outside(kept).Bytes())
		for _, p := range []packets.Packet{
			udp(server, endpoint(to, 67)), udp(endpoint(router, 68), endpoint(to, 68)), tcp(server, endpoint(to, 68), packets.SYN),
			udp(server, endpoint(to, 68)).Change(lastFragment),
		} {
			if r := g.fromOutside(outside(p)); r.action != dataplane.Drop {
				t.Errorf("%s: %v, %s", p, r.action, r.reason)
			}
		}
	}
	g.count(0)
}
