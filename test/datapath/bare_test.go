package datapath

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// bothBare are two tuns.
var bothBare = kinds{true: true, false: true}

// putOn sends a packet by the link of its source's side, and returns what comes back by the same and by
// the other one, without link headers.
func (g *gateway) putOn(links taps, s buffer) (back, on []byte) {
	g.t.Helper()
	public := !realm.Contains(s.packet.IPv4.Source)
	check(g.t, links[public].send(s.linkHeader, addressed(s.packet).Bytes()))
	_, back = g.next(links[public])
	back = append([]byte(nil), back...)
	_, on = g.next(links[!public])
	return back, on
}

// everybodyByATun is ip route add default dev eth0: no router has an address.
func (g *gateway) everybodyByATun() {
	g.t.Helper()
	g.in(func() error {
		return netlink.RouteReplace(&netlink.Route{LinkIndex: ifindex(g.t, "eth0"), Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Scope: unix.RT_SCOPE_LINK})
	})
}

// A link without addresses has nobody to be found: already the first packet is redirected, and
// one record does for all who are behind it, however many.
func TestNextHopsOfATun(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, bothBare)
	g.everybodyByATun()
	const destinations = 500
	before := g.counters()
	for i := range destinations {
		to := endpoint(netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}), 53)
		if _, on := g.putOn(links, buffer{packet: udp(inA, to)}); on == nil {
			t.Fatalf("what is for %s did not come: %v", to, gained(before, g.counters()))
		}
	}
	counted := gained(before, g.counters())
	same(g, "redirected", counted["forwarded"], uint64(destinations))
	same(g, "left to the kernel", counted["forwarded_by_stack"], uint64(0))
	var key uint32
	var value []byte
	records := 0
	entries := g.table("next_hops").Iterate()
	for entries.Next(&key, &value) {
		if strings.Trim(string(value), "\x00") != "" {
			records++
		}
	}
	check(t, entries.Err())
	if records != 1 {
		t.Errorf("%d next hops are remembered, want 1", records)
	}
}

// What the data plane says itself goes back by the tun, whole: errors about packets of every kind, and refusals.
func TestAnswersOnATun(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, bothBare, func(s *setup) { s.Refuse = true })
	out := endpoint(outbound, inA.Port())
	g.bothWays(links, buffer{packet: udp(inA, server)})
	long := strings.Repeat("long ", 1300)
	last := func(p packets.Packet) packets.Packet { return ttl1(p) }
	for name, c := range map[string]struct {
		send buffer
		from netip.Addr
	}{
		"a datagram from inside":     {buffer{packet: last(udp(inA, server))}, privateAddress},
		"a datagram from outside":    {buffer{packet: last(udp(server, out))}, publicAddress},
		"one with its sum left":      {left(last(udp(inA, server))), privateAddress},
		"an aggregate of datagrams":  {cut(last(packets.NewUDP(inA, server, long)), 1000), privateAddress},
		"one in pieces":              {pieces(buffer{packet: last(packets.NewUDP(inA, server, long))}, 34), privateAddress},
		"an aggregate from a router": {cut(last(packets.NewUDP(server, out, long)), 1000), publicAddress},
	} {
		back, on := g.putOn(links, c.send)
		if back == nil || on != nil {
			t.Errorf("%s: back came %x, on went %x", name, back, on)
			continue
		}
		p, err := packets.Parse(back)
		check(t, err)
		switch {
		case p.ICMP == nil || p.ICMP.Type != packets.TimeExceeded || p.IPv4.Source != c.from || p.IPv4.Destination != c.send.packet.IPv4.Source:
			t.Errorf("%s: back came %s", name, p)
		case p.ICMP.Checksum != packets.ChecksumValid:
			t.Errorf("%s: its sum is %s", name, p.ICMP.Checksum)
		case len(p.Payload) < 28 || !bytes.Equal(p.Payload[12:20], addressed(c.send.packet).Bytes()[header+12:header+20]):
			t.Errorf("%s: it quotes % x", name, p.Payload)
		}
	}
	for name, knock := range map[string]packets.Packet{"a SYN": tcp(client, lent, packets.SYN), "a datagram": udp(client, lent)} {
		back, _ := g.putOn(links, buffer{packet: knock})
		p, err := packets.Parse(back)
		if err != nil || p.IPv4.Source != lent.Addr() || p.IPv4.Destination != client.Addr() {
			t.Errorf("%s: back came %s, %v", name, p, err)
		}
	}
}

// What the daemon sends itself leaves by each link as its frames are: where they have no link header, without one.
func TestSendsWhatLinksHave(t *testing.T) {
	t.Parallel()
	for of, bare := range allKinds {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			g, links := tapped(t, bare)
			for public, p := range map[bool]packets.Packet{true: tcp(webPlace, client, packets.RST), false: tcp(server, inA, packets.RST)} {
				frame := addressed(p).Bytes()
				g.in(func() error {
					if public {
						return g.data.Send(g.public, frame)
					}
					return g.data.SendInside(g.private, frame)
				})
				if bare[public] {
					clear(frame[:header-2])
				}
				if _, got := g.next(links[public]); !bytes.Equal(got, frame) {
					t.Errorf("by the link of %s comes % x, want % x", either(public, "eth0", "eth1"), got, frame)
				}
			}
		})
	}
}

// What is for the gateway itself is taken by its kernel, though it has a header now that its link has not.
func TestGatewayBehindATun(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, bothBare)
	socket := must(g.namespace.ListenPacket("udp4", ":5353"))(t)
	defer socket.Close()
	for _, from := range []netip.AddrPort{inA, server} {
		to := endpoint(either(from == inA, privateAddress, publicAddress), 5353)
		for name, p := range map[string]buffer{
			"whole": {packet: udp(from, to)}, "its sum left": left(udp(from, to)), "in pieces": pieces(buffer{packet: packets.NewUDP(from, to, strings.Repeat("long ", 1300))}, 40),
		} {
			g.putOn(links, p)
			check(t, socket.SetReadDeadline(time.Now().Add(10*time.Second)))
			n, who, err := socket.ReadFrom(make([]byte, 8192))
			if err != nil || n != len(p.packet.Payload) || who.(*net.UDPAddr).AddrPort() != from {
				t.Errorf("%s, from %s: %d octets of %v, %v", name, from, n, who, err)
			}
		}
		back, _ := g.putOn(links, buffer{packet: echo(from.Addr(), to.Addr(), 7)})
		if p, err := packets.Parse(back); err != nil || p.ICMP == nil || p.ICMP.Type != packets.EchoReply {
			t.Errorf("an echo from %s is answered by %s, %v", from, p, err)
		}
	}
}

// A program that is the far end of a tun may call its messages ARP: nobody answers.
func TestARPByATun(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	const named = 4 // octets that say what follows (struct tun_pi)
	g.in(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(fd), "tun")
		t.Cleanup(func() { check(t, file.Close()) })
		old, err := netlink.LinkByName("eth0")
		check(t, errors.Join(err, netlink.LinkDel(old)))
		request := must(unix.NewIfreq("eth0"))(t)
		request.SetUint16(unix.IFF_TUN)
		check(t, unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
		link := must(netlink.LinkByName("eth0"))(t)
		check(t, errors.Join(netlink.AddrAdd(link, must(netlink.ParseAddr(publicAddress.String()+"/24"))(t)), netlink.LinkSetUp(link), g.data.Refresh()))
		before := g.counters()
		ask := packets.NewARPRequest(packets.RouterMAC, router, pool1).Bytes()[header:]
		_, err = unix.Write(fd, append([]byte{0, 0, 8, 6}, ask...))
		check(t, err)
		if counted := gained(before, g.counters()); counted["drop_ethertype"] != 1 {
			t.Errorf("counted is %v", counted)
		}
		octets := make([]byte, 2048)
		for {
			n, err := unix.Read(fd, octets)
			if errors.Is(err, unix.EAGAIN) {
				return nil
			}
			check(t, err)
			if n > named && octets[named]>>4 != 6 { // the kernel's own IPv6
				t.Errorf("it says % x", octets[:n])
			}
		}
	})
}

// Whoever has the route to everybody by a tun has no neighbours of private use for that.
func TestNoPrivateSourceLeavesByATun(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, bothBare)
	at := netip.MustParseAddr
	g.everybodyByATun()
	g.add("lo", "192.168.7.7/32", "203.0.113.200/32")
	g.add("eth0", "172.31.0.2/32")
	for from, passes := range map[netip.Addr]bool{
		at("192.168.7.7"): false, at("192.168.9.9"): false, privateAddress: false, at("203.0.113.200"): true, at("203.0.113.201"): true, at("172.31.0.2"): true,
	} {
		before := g.counters()
		g.in(func() error { // by a program that writes the header itself
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
			if err != nil {
				return err
			}
			err = unix.Sendto(fd, udp(endpoint(from, 53), endpoint(remote, 53)).Bytes()[header:], 0, &unix.SockaddrInet4{Addr: remote.As4()})
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOBUFS) { // the kernel tells a sender of a drop so
				err = nil
			}
			return errors.Join(err, unix.Close(fd))
		})
		_, frame := g.next(links[true])
		if dropped := gained(before, g.counters())["drop_private_source"]; passes != (frame != nil) || passes != (dropped == 0) {
			t.Errorf("from %s comes %x, %d drops", from, frame, dropped)
		}
	}
}

// The next daemon takes a tun over with its program, and the data plane goes with the last one.
func TestTunIsAdopted(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, bothBare)
	s := left(udp(inA, server))
	g.bothWays(links, s)
	g.reopen()
	for _, i := range g.data.Interfaces() {
		if i.Mode != "tcx" || i.Why != "its packets have no Ethernet header" || !i.Redirect {
			t.Errorf("%+v", i)
		}
	}
	g.bothWays(links, s)
	g.in(func() error { return g.data.Close(false) })
	for _, name := range []string{"eth0", "eth1"} {
		same(g, "forwarding of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/forwarding"))(t), "0")
	}
	if attached := must(g.namespace.Attached())(t); len(attached) > 0 {
		t.Errorf("programs are left on %v", attached)
	}
}

// Fragments in any order pass tuns, and links of a kernel without tcx: what comes early is held.
func TestFragmentsByTuns(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]option{"tcx": nil, "clsact": {withoutTCX}} {
		for of, bare := range allKinds {
			t.Run(of+", "+name, func(t *testing.T) { t.Parallel(); fragmentsByTuns(t, bare, more...) })
		}
	}
}

func fragmentsByTuns(t *testing.T, bare kinds, more ...option) {
	g, links := tapped(t, bare, more...)
	g.in(func() error { // frames of the usual length
		for _, name := range []string{"eth0", "eth1"} {
			if err := netlink.LinkSetMTU(must(netlink.LinkByName(name))(t), 1500); err != nil {
				return err
			}
		}
		return g.data.Refresh()
	})
	long, out := strings.Repeat("fragment", 700), endpoint(outbound, inA.Port())
	for i := range uint16(20) {
		for _, way := range []struct {
			public     bool
			sent, want packets.Packet
		}{
			{false, packets.NewUDP(inA, server, long), packets.NewUDP(out, server, long)},
			{true, packets.NewUDP(server, out, long), packets.NewUDP(server, inA, long)},
		} {
			pieces := divided(way.sent, 100+i, 1480)
			slices.Reverse(pieces)
			for _, p := range pieces {
				check(t, links[way.public].send(linkHeader{}, addressed(p).Bytes()))
			}
			var got []packets.Packet
			for deadline := time.Now().Add(10 * time.Second); len(got) < len(pieces) && time.Now().Before(deadline); {
				if _, frame := g.next(links[!way.public]); frame != nil {
					got = append(got, must(packets.Parse(bytes.Clone(frame)))(t))
				}
			}
			if len(got) < len(pieces) {
				t.Fatalf("%d of %d fragments came: %v", len(got), len(pieces), g.counters())
			}
			whole := joined(t, got)
			if whole.Tuple() != way.want.Tuple() || !bytes.Equal(whole.Payload, way.want.Payload) || whole.UDP.Checksum != packets.ChecksumValid {
				t.Fatalf("%s came, with a sum that is %s", whole, whole.UDP.Checksum)
			}
		}
	}
}
