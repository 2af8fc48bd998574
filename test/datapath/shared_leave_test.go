package datapath

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// takeAway removes an address from eth0; the data plane is not told.
func (g *gateway) takeAway(prefix string) {
	g.t.Helper()
	g.in(func() error {
		iface, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr(prefix)
		if err != nil {
			return err
		}
		return netlink.AddrDel(iface, address)
	})
}

// share puts an address on eth0 and tells the data plane.
func (g *gateway) share(prefix string) {
	g.t.Helper()
	check(g.t, g.namespace.Address("eth0", prefix))
	g.in(g.data.Refresh)
}

// Between an address's leaving and the daemon's notice the kernel would forward
// what was for the gateway: no packet from inside reaches the outside so.
func TestAddressThatLeftLeaksNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	g.takeAway(outbound.String() + "/24")
	g.in(func() error { neighbour(t, g.public, outbound, packets.RouterMAC); return nil }) // another machine took it over
	wire := must(g.inside.Frames("eth0"))(t)
	defer wire.Close()
	seen := must(g.outside.Frames("eth0"))(t)
	defer seen.Close()
	mac := packets.MAC(must(g.namespace.MAC("eth1"))(t))
	deadline := time.Now().Add(20 * time.Second)
	for range 8 {
		for _, p := range []packets.Packet{
			udp(inA, endpoint(outbound, 53)), tcp(inA, endpoint(outbound, 53), packets.SYN), echo(hostA, outbound, 7),
			udp(inA, endpoint(outbound, 53)).Change(func(p *packets.Packet) { p.IPv4.Protocol = 89 }),
			udp(inA, server), // passes, and ends the wait for those before
		} {
			check(t, wire.Send(p.Between(packets.HostMAC, mac).Bytes()))
		}
		for {
			frame, err := seen.Receive(deadline)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the packet that should pass did not come")
			}
			check(t, err)
			p, err := packets.Parse(frame)
			if err != nil || p.IPv4 == nil {
				continue // the kernel's own
			}
			if realm.Contains(p.IPv4.Source) {
				t.Fatalf("left untranslated: %s", p)
			}
			if p.IPv4.Source == outbound && p.IPv4.Destination == remote {
				break
			}
		}
	}
}
