package datapath

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

var thief = packets.MAC{2, 0, 0, 0, 0, 0x66}

// wire is one side of the gateway as somebody on its wire sees it.
type wire struct {
	public  bool
	own     netip.Addr // the gateway's
	onLink  netip.Addr // of the network
	foreign []netip.Addr
	far     *netns.Namespace
	index   int
}

func (g *gateway) links() map[string]wire {
	at := netip.MustParseAddr
	return map[string]wire{
		"public": {public: true, own: publicAddress, onLink: at("198.18.0.77"), far: g.outside, index: g.public,
			foreign: []netip.Addr{hostA, at("203.0.113.9"), at("10.0.9.9"), at("127.0.0.1"), at("224.0.0.5"), at("198.18.0.255"), publicAddress, privateAddress}},
		"private": {own: privateAddress, onLink: at("10.0.7.7"), far: g.inside, index: g.private,
			foreign: []netip.Addr{router, remote, at("198.18.0.77"), at("10.1.0.1"), at("127.0.0.1"), privateAddress, publicAddress}},
	}
}

// field-attacks.md, Smaller: the kernel learnt link addresses from anybody's ARP, among them
// its own. What nobody on the link can have sent it does not get to see.
func TestARPSenders(t *testing.T) {
	t.Parallel()
	g := newGateway(t, strangers)
	for name, l := range g.links() {
		for _, from := range l.foreign {
			for _, p := range []packets.Packet{
				packets.NewARPRequest(thief, from, l.own), packets.NewARPRequest(thief, from, from), // a question, and gratuitous
				packets.NewARPReply(thief, from, packets.BroadcastMAC, l.own), packets.NewARPReply(thief, from, thief, from),
			} {
				frame := p.Bytes()
				if r := g.send(l.public, frame); r.reason != "drop_arp_sender" {
					t.Errorf("%s: %s: %s", name, p, r.reason)
				}
				frame[15] = 6 // to the kernel IEEE 802 is Ethernet, too
				if r := g.send(l.public, frame); r.reason != "drop_arp_sender" {
					t.Errorf("%s: %s, of IEEE 802: %s", name, p, r.reason)
				}
			}
		}
		for _, p := range []packets.Packet{
			packets.NewARPRequest(thief, l.onLink, l.own), packets.NewARPRequest(thief, l.onLink, l.onLink),
			packets.NewARPReply(thief, l.onLink, packets.BroadcastMAC, l.own),
			packets.NewARPRequest(thief, netip.IPv4Unspecified(), l.onLink), // a probe (RFC 5227)
			packets.NewARPRequest(thief, netip.IPv4Unspecified(), l.own),
		} {
			g.passed(g.send(l.public, p.Bytes()), "to_gateway", p.Bytes())
		}
	}
	// Who is on the link and asks from a network of the pool's that the gateway is not in is answered.
	if r := g.fromOutside(packets.NewARPRequest(packets.RouterMAC, netip.MustParseAddr("203.0.113.1"), pool1)); r.reason != "answered_arp" {
		t.Errorf("a router's other address asks for the pool's: %s", r.reason)
	}
}

// What is reached on a link without a network: by a route to the device, and as a next hop.
func TestARPOfRoutedNeighbours(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	inside, hop := netip.MustParseAddr("172.16.5.5"), netip.MustParseAddr("192.0.2.1")
	ask := func(from netip.Addr, l wire) string {
		return string(g.send(l.public, packets.NewARPRequest(thief, from, l.own).Bytes()).reason)
	}
	links := g.links()
	same(g, "before there is a route", ask(inside, links["private"]), "drop_arp_sender")
	check(t, g.namespace.Command(t.Context(), "ip", "route", "add", "172.16.5.0/24", "dev", "eth1").Run())
	same(g, "behind a route to the device", ask(inside, links["private"]), "to_gateway")
	same(g, "on the other link", ask(inside, links["public"]), "drop_arp_sender")
	check(t, g.namespace.Command(t.Context(), "ip", "route", "replace", "default", "via", hop.String(), "dev", "eth0", "onlink").Run())
	same(g, "the next hop of the default route, in no network", ask(hop, links["public"]), "to_gateway")
	same(g, "who is behind it", ask(remote, links["public"]), "drop_arp_sender")
	// Of two links in one network each has its neighbours.
	second := g.withSecondPort()
	check(t, g.namespace.Address("eth2", "10.0.0.2/16"))
	r := g.by(second, inside4(hostB))
	same(g, "by the second link of a network", string(r.reason), "to_gateway")
	// Before it has an address an interface hears who has the one that it asks for.
	check(t, g.namespace.Command(t.Context(), "ip", "address", "flush", "dev", "eth0").Run())
	g.in(func() error { return g.data.Refresh() })
	same(g, "without an address", ask(router, links["public"]), "to_gateway")
}

func inside4(from netip.Addr) packets.Packet {
	return packets.NewARPRequest(thief, from, netip.MustParseAddr("10.0.0.2"))
}

// neighbours are the link addresses that the kernel has for a link's neighbours.
func (g *gateway) neighbours(index int) map[string]string {
	g.t.Helper()
	known := map[string]string{}
	g.in(func() error {
		list, err := netlink.NeighList(index, unix.AF_INET)
		for _, n := range list {
			if len(n.HardwareAddr) > 0 {
				known[n.IP.String()] = n.HardwareAddr.String()
			}
		}
		return err
	})
	return known
}

// On the wire: forged ARP changes no entry of the kernel's, and the next hop is found.
func TestForgedARPTeachesNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t, strangers)
	check(t, g.outside.Address("eth0", router.String()+"/24"))
	frames := must(g.outside.Frames("eth0"))(t)
	defer func() { _ = frames.Close() }()
	probe := must(g.outside.ListenPacket("udp4", router.String()+":0"))(t)
	defer func() { _ = probe.Close() }()
	forged := g.links()["public"].foreign
	for _, from := range forged {
		for _, p := range []packets.Packet{packets.NewARPRequest(thief, from, publicAddress), packets.NewARPReply(thief, from, packets.BroadcastMAC, publicAddress)} {
			check(t, frames.Send(p.Bytes()))
		}
	}
	want := uint64(2 * len(forged))
	deadline := time.Now().Add(10 * time.Second)
	for g.counters()["drop_arp_sender"] < want && time.Now().Before(deadline) {
		if _, err := probe.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(endpoint(publicAddress, 9))); err != nil {
			t.Log(err)
		}
	}
	same(g, "dropped", g.counters()["drop_arp_sender"], want)
	for address, mac := range g.neighbours(g.public) {
		if mac == net.HardwareAddr(thief[:]).String() {
			t.Errorf("the kernel believes %s to be at %s", address, mac)
		}
	}
	mac := must(g.outside.MAC("eth0"))(t).String()
	g.in(func() error {
		connection, err := net.Dial("udp4", endpoint(remote, 9).String())
		if err != nil {
			return err
		}
		defer func() { _ = connection.Close() }()
		for g.neighbours(g.public)[router.String()] != mac && time.Now().Before(deadline) {
			if _, err := connection.Write([]byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	same(g, "the next hop's link address", g.neighbours(g.public)[router.String()], mac)
}

// Who looks by another of its own links whether somebody has an address of the pool is not answered by itself.
func TestARPOfTheGatewayIsNotAnswered(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for from, want := range map[netip.Addr]string{publicAddress: "drop_arp_sender", privateAddress: "drop_arp_sender", router: "answered_arp", netip.IPv4Unspecified(): "answered_arp"} {
		r := g.send(true, packets.NewARPRequest(packets.RouterMAC, from, pool1).Bytes())
		same(g, "asked by "+from.String(), string(r.reason), want)
	}
}
