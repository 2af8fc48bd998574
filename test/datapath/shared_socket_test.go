package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// connecting opens a TCP socket of the gateway that has sent its SYN.
func (g *gateway) connecting(from, to netip.AddrPort) {
	g.t.Helper()
	g.in(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		g.t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: from.Addr().As4(), Port: int(from.Port())}); err != nil {
			return err
		}
		err = unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
		if errors.Is(err, unix.EINPROGRESS) {
			return nil
		}
		return fmt.Errorf("connect without waiting: %w", err)
	})
}

// A connected socket of the gateway gets its answers, whatever a host inside
// has of its port; strangers get no further than before.
func TestConnectedUDPSocketOnASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	own, peer := endpoint(outbound, 5353), endpoint(router, 53)
	socket := must(g.namespace.DialFrom(t.Context(), "udp", own, peer.String()))(t)
	defer socket.Close()
	reply := udp(peer, own)
	g.passed(g.put(reply), "to_gateway", addressed(reply).Bytes()) // no mapping
	in := endpoint(hostA, own.Port())
	out := g.mapped(udp(in, server))
	g.passed(g.put(reply), "to_gateway", addressed(reply).Bytes())
	g.leaves(g.put(udp(server, out)), udp(server, in))
	if out == own { // the port is the socket's towards its peer alone
		g.dropped(g.put(udp(server2, own)), "drop_filtered")
	}
	g.idle(301 * time.Second)
	g.passed(g.put(reply), "to_gateway", addressed(reply).Bytes()) // the port's quarantine
}

func TestConnectedTCPSocketOnASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	own, peer := endpoint(outbound, 5353), endpoint(router, 179)
	g.connecting(own, peer)
	in := endpoint(hostA, own.Port())
	out := g.mapped(tcp(in, web, packets.SYN))
	for _, flags := range []packets.Flags{synAck, packets.ACK, packets.PSH | packets.ACK, packets.FIN | packets.ACK, packets.RST | packets.ACK, packets.SYN} {
		p := tcp(peer, own, flags)
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	g.leaves(g.put(tcp(web, out, synAck)), tcp(web, in, synAck))
	if out == own {
		g.dropped(g.put(tcp(endpoint(router, 180), own, synAck)), "drop_not_syn")
		g.dropped(g.put(tcp(server2, own, packets.SYN)), "drop_filtered")
	}
}

// A mapping may be older than the socket that shares its port.
func TestSocketYoungerThanTheMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	own, peer := endpoint(outbound, 5353), endpoint(router, 53)
	in := endpoint(hostA, own.Port())
	same(g, "outside endpoint for UDP", g.mapped(udp(in, server)), own)
	same(g, "outside endpoint for TCP", g.mapped(tcp(in, web, packets.SYN)), own)
	defer must(g.namespace.DialFrom(t.Context(), "udp", own, peer.String()))(t).Close()
	g.connecting(own, peer)
	for _, p := range []packets.Packet{udp(peer, own), tcp(peer, own, synAck)} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	g.leaves(g.put(udp(server, own)), udp(server, in))
	g.leaves(g.put(tcp(web, own, synAck)), tcp(web, in, synAck))
	g.dropped(g.put(udp(server2, own)), "drop_filtered")
	g.dropped(g.put(tcp(server2, own, packets.ACK)), "drop_not_syn")
}

// The socket's peer may be inside.
func TestConnectedSocketToAHostInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	own, peer := endpoint(outbound, 5353), endpoint(hostB, 53)
	in := endpoint(hostA, own.Port())
	same(g, "outside endpoint for UDP", g.mapped(udp(in, server)), own)
	same(g, "outside endpoint for TCP", g.mapped(tcp(in, web, packets.SYN)), own)
	defer must(g.namespace.DialFrom(t.Context(), "udp", own, peer.String()))(t).Close()
	g.connecting(own, peer)
	for _, p := range []packets.Packet{udp(peer, own), tcp(peer, own, synAck)} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	g.count(2)
	g.dropped(g.put(udp(endpoint(hostB, 54), own)), "drop_filtered") // another socket of the same host
}

// ephemeral is the range of ports that the kernel gives to the gateway's own
// sockets.
func (g *gateway) ephemeral() (first, last uint16) {
	g.t.Helper()
	text := must(g.namespace.Sysctl("net/ipv4/ip_local_port_range"))(g.t)
	if _, err := fmt.Sscan(text, &first, &last); err != nil {
		g.t.Fatalf("port range %q: %v", text, err)
	}
	return first, last
}

// While the gateway has the address, its own ports go to no mapping, also not
// by way of a mapping from before that ends; when it has it no more, they are
// the hosts' again.
func TestEphemeralPortsFollowTheAddress(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(from netip.AddrPort) packets.Packet{
		"udp": func(from netip.AddrPort) packets.Packet { return udp(from, server) },
		"tcp": func(from netip.AddrPort) packets.Packet { return tcp(from, web, packets.SYN) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, timeouts(func(s *datapath.Settings) { s.PortQuarantine = 0 }))
			first, last := g.ephemeral()
			own := func(what string, from netip.AddrPort, want bool) {
				t.Helper()
				out := g.mapped(make(from))
				if got := first <= out.Port() && out.Port() <= last; got != want {
					t.Fatalf("%s: %s has %s; is that the kernel's? %v, want %v", what, from, out, got, want)
				}
			}
			own("not shared", endpoint(hostA, 40000), true)
			g.share(outbound.String() + "/24")
			own("shared, a mapping from before", endpoint(hostA, 40000), true)
			own("shared", endpoint(hostA, 40001), false)
			g.idle(301 * time.Second)
			g.count(0)
			own("shared, the mapping from before has ended", endpoint(hostA, 40000), false)
			own("shared, of another host", endpoint(hostB, 40000), false)
			g.takeAway(outbound.String() + "/24")
			g.in(g.data.Refresh)
			for _, port := range []uint16{first, 40002, last} {
				from := endpoint(hostA, port)
				same(g, "no longer shared, outside endpoint", g.mapped(make(from)), endpoint(outbound, port))
			}
			g.idle(301 * time.Second)
			same(g, "no longer shared, port of a mapping from before", g.mapped(make(endpoint(hostB, 40000))).Port(), 40000)
		})
	}
}

// A mapping from before that lives through the time keeps its port for itself.
func TestMappingOutlivesTheSharing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	same(g, "outside endpoint", g.mapped(udp(inA, server)), endpoint(outbound, inA.Port()))
	g.share(outbound.String() + "/24")
	g.takeAway(outbound.String() + "/24")
	g.in(g.data.Refresh)
	same(g, "outside endpoint after it", g.mapped(udp(inA, server2)), endpoint(outbound, inA.Port()))
	if other := g.mapped(udp(endpoint(hostB, inA.Port()), server)); other.Port() == inA.Port() {
		t.Fatalf("%s stands for two hosts", other)
	}
	check(t, auditError(dataplane.Audit(g.data)))
}

// The kernel has no such range for ICMP identifiers.
func TestIdentifiersAreNotReserved(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	first, last := g.ephemeral()
	for _, id := range []uint16{first, 40000, last} {
		g.leaves(g.put(echo(hostA, remote, id)), echo(outbound, remote, id))
	}
}
