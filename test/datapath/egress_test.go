package datapath

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// leaving sends UDP from each source to a remote address, by the kernel, and then one from
// the public address; it returns the sources that were seen on the public wire.
func (g *gateway) leaving(sources ...netip.Addr) map[netip.Addr]bool {
	g.t.Helper()
	frames := must(g.outside.Frames("eth0"))(g.t)
	defer func() { _ = frames.Close() }()
	for _, from := range append(sources, publicAddress) {
		socket := must(g.namespace.ListenPacket("udp4", netip.AddrPortFrom(from, 0).String()))(g.t)
		_, err := socket.WriteTo([]byte("from "+from.String()), net.UDPAddrFromAddrPort(endpoint(remote, 53)))
		if err != nil && !errors.Is(err, os.ErrPermission) { // the kernel tells a sender of a drop so
			g.t.Fatal(err)
		}
		check(g.t, socket.Close())
	}
	seen := map[netip.Addr]bool{}
	deadline := time.Now().Add(10 * time.Second)
	for !seen[publicAddress] {
		frame, err := frames.Receive(deadline)
		check(g.t, err)
		if p, err := packets.Parse(frame); err == nil && p.UDP != nil && p.IPv4 != nil && p.IPv4.Destination == remote {
			seen[p.IPv4.Source] = true
		}
	}
	return seen
}

// unseen wants that of these sources nothing leaves, and that each drop is counted.
func (g *gateway) unseen(sources ...netip.Addr) {
	g.t.Helper()
	before := g.counters()["drop_private_source"]
	seen := g.leaving(sources...)
	for _, from := range sources {
		if seen[from] {
			g.t.Errorf("a packet from %s is on the public wire", from)
		}
	}
	same(g, "drops that were counted", g.counters()["drop_private_source"]-before, uint64(len(sources)))
}

// add gives the gateway addresses, and says so to the data plane.
func (g *gateway) add(name string, addresses ...string) {
	g.t.Helper()
	for _, a := range addresses {
		check(g.t, g.namespace.Address(name, a))
	}
	g.in(func() error { return g.data.Refresh() })
}

// Each drop is seen by who watches them.
func TestDropsOfTheGuardAreWatched(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	drops := g.drops()
	g.unseen(privateAddress)
	drop := <-drops
	same(g, "reason", drop.Reason, "drop_private_source")
	same(g, "side", drop.Side, "public")
	same(g, "interface", drop.Interface, g.public)
	same(g, "source", drop.Tuple.Source.Addr(), privateAddress)
	same(g, "destination", drop.Tuple.Destination, endpoint(remote, 53))
}

// field-attacks.md A4: what the gateway itself sends was not watched, and its resolver's
// answers to a spoofed source left with its private address.
func TestNoPrivateSourceLeaves(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	at := netip.MustParseAddr
	g.add("lo", "192.168.7.7/32", "172.16.3.4/32", "203.0.113.200/32")
	g.add("eth1", "203.0.113.129/28") // of a network inside that is not of private use
	g.unseen(privateAddress, at("192.168.7.7"), at("172.16.3.4"), at("203.0.113.129"))
	g.add("eth0", "198.18.0.9/24")
	for from := range map[netip.Addr]bool{at("198.18.0.9"): true, at("203.0.113.200"): true} {
		if !g.leaving(from)[from] {
			t.Errorf("nothing leaves from %s", from)
		}
	}
}

// Where the public link is of private use itself, its addresses leave, and those of the pool; no others.
func TestPublicLinkOfPrivateUse(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	at := netip.MustParseAddr
	g.add("eth0", "192.168.1.2/24")
	g.add("lo", "192.168.2.2/32", pool1.String()+"/32")
	if seen := g.leaving(at("192.168.1.2"), pool1); !seen[at("192.168.1.2")] || !seen[pool1] {
		t.Errorf("seen is %v", seen)
	}
	g.unseen(at("192.168.2.2"))
}

// Whatever the kernel forwards for others: it is in no network of the public link.
func TestForwardedForOthers(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	others := must(g.lab.Namespace("others"))(t)
	check(t, g.lab.Veth(g.namespace, "eth7", others, "eth0"))
	check(t, g.namespace.Address("eth7", "172.17.0.1/16"))
	check(t, others.Address("eth0", "172.17.0.2/16"))
	for n, name := range map[*netns.Namespace]string{g.namespace: "eth7", others: "eth0"} {
		check(t, n.Up(name))
	}
	check(t, g.namespace.WaitUp())
	check(t, others.Route("default", "172.17.0.1"))
	check(t, g.namespace.SetSysctl("net/ipv4/conf/eth7/forwarding", "1"))
	socket := must(others.ListenPacket("udp4", "172.17.0.2:0"))(t)
	defer func() { _ = socket.Close() }()
	deadline := time.Now().Add(10 * time.Second)
	for g.counters()["drop_private_source"] == 0 && time.Now().Before(deadline) {
		_, err := socket.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(endpoint(remote, 53)))
		check(t, err)
	}
	if g.counters()["drop_private_source"] == 0 {
		t.Error("none was dropped")
	}
}

// The guard works without the daemon, the next one takes it over, and it goes with the data plane.
func TestGuardOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.unseen(privateAddress)
	for range 3 {
		g.in(func() (err error) {
			if err = g.data.Close(true); err != nil {
				return err
			}
			return nil
		})
		if g.leaving(privateAddress)[privateAddress] {
			t.Error("without a daemon a private source leaves")
		}
		g.in(func() (err error) {
			if g.data, err = datapath.Open(g.options); err != nil {
				return err
			}
			return g.data.Attach()
		})
		g.unseen(privateAddress)
	}
	g.in(func() error { return g.data.Close(false) })
	if !g.leaving(privateAddress)[privateAddress] {
		t.Error("the guard stays when the data plane is gone")
	}
}

// An interface that is made anew is guarded, too.
func TestGuardOfANewInterface(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	check(t, g.namespace.Command(t.Context(), "ip", "link", "delete", "eth0").Run())
	g.in(func() error { return g.data.Refresh() })
	check(t, g.lab.Veth(g.namespace, "eth0", g.outside, "eth0"))
	check(t, g.namespace.Address("eth0", "198.18.0.1/24"))
	check(t, g.namespace.Up("eth0"))
	check(t, g.outside.Up("eth0"))
	check(t, g.namespace.WaitUp())
	check(t, g.namespace.Route("default", router.String()))
	g.in(func() error {
		neighbour(t, ifindex(t, "eth0"), router, packets.RouterMAC)
		return g.data.Refresh()
	})
	g.unseen(privateAddress)
}

// What leaves by an interface of egress.stack the kernel sends, through its qdisc; what
// leaves by the others is redirected.
func TestEgressByStack(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(s *setup) { s.Stack = []string{"eth0"} })
	out := endpoint(outbound, inA.Port())
	g.handed(g.put(udp(inA, server)), "forwarded_by_stack", udp(out, server))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
}
