package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// Endpoints that most tests talk about.
var (
	inA     = endpoint(hostA, 40000)
	inB     = endpoint(hostB, 40001)
	server  = endpoint(remote, 53)
	server2 = endpoint(remote2, 53)
	never   = netip.MustParseAddr("203.0.113.99") // nobody inside talks to it
)

var realm = netip.MustParsePrefix("10.0.0.0/16")

func udp(from, to netip.AddrPort) packets.Packet { return packets.NewUDP(from, to, "some data") }

func tcp(from, to netip.AddrPort, flags packets.Flags) packets.Packet {
	return packets.NewTCP(from, to, flags, "")
}

// addressed puts the link addresses in that the packet would have on the
// gateway's link on the side of its source.
func addressed(p packets.Packet) packets.Packet {
	switch {
	case p.IPv4.Source == hostB:
		return p.Between(packets.OtherHostMAC, packets.GatewayPrivateMAC)
	case realm.Contains(p.IPv4.Source):
		return inside(p)
	}
	return outside(p)
}

// put sends a packet from the side of its source.
func (g *gateway) put(p packets.Packet) result {
	g.t.Helper()
	return g.send(!realm.Contains(p.IPv4.Source), addressed(p).Bytes())
}

// leaves wants the packet forwarded to the router, or, where its destination is
// inside, to the host, as want with one hop less.
func (g *gateway) leaves(r result, want packets.Packet) {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != "forwarded" {
		g.t.Fatalf("%v, %s, want %s forwarded", r.action, r.reason, want)
	}
	to := packets.RouterMAC
	switch want.IPv4.Destination {
	case hostA:
		to = packets.HostMAC
	case hostB:
		to = packets.OtherHostMAC
	}
	want = want.Change(func(p *packets.Packet) { p.IPv4.TTL-- }).Between(r.packet.Ethernet.Source, to)
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("%s came out otherwise:\n%s", want, diff)
	}
}

// forwarded wants the packet forwarded, however translated.
func (g *gateway) forwarded(r result) packets.Packet {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != "forwarded" {
		g.t.Fatalf("%v, %s, want it forwarded", r.action, r.reason)
	}
	return r.packet
}

// dropped wants the packet dropped for the reason, and its sender told nothing.
func (g *gateway) dropped(r result, reason model.Reason) {
	g.t.Helper()
	if r.action != dataplane.Drop || r.reason != reason {
		g.t.Fatalf("%v, %s, want %s", r.action, r.reason, reason)
	}
}

// passed wants the packet left to the kernel as it was.
func (g *gateway) passed(r result, reason model.Reason, frame []byte) {
	g.t.Helper()
	if r.action != dataplane.Pass || r.reason != reason {
		g.t.Fatalf("%v, %s, want %s", r.action, r.reason, reason)
	}
	if diff := frames.Diff(frame, r.frame); diff != "" {
		g.t.Fatalf("changed on its way to the kernel:\n%s", diff)
	}
}

// refused wants the packet dropped for the reason and its sender told why by an
// ICMP error from the address.
func (g *gateway) refused(r result, p packets.Packet, reason model.Reason, from netip.Addr, icmpType, code uint8, rest uint32) {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != reason {
		g.t.Fatalf("%v, %s, want %s and an ICMP error", r.action, r.reason, reason)
	}
	want := packets.NewICMPError(from, p.IPv4.Source, icmpType, code, rest, p, 8).
		Between(r.packet.Ethernet.Source, addressed(p).Ethernet.Source)
	want.IPv4.TOS = 0xc0
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("the error is not as wanted:\n%s", diff)
	}
}

// mapped sends a packet from inside and returns its outside endpoint.
func (g *gateway) mapped(p packets.Packet) netip.AddrPort {
	g.t.Helper()
	return g.forwarded(g.put(p)).Tuple().Source
}

// public is what the outside connects to.
type public struct {
	address  netip.Addr
	protocol model.Protocol
	port     uint16
}

// vacant finds a place for a binding.
func (g *gateway) vacant() (slot uint64, found bool) {
	for slot := range must(g.data.Usage())(g.t).Bindings {
		if g.data.SlotVacant(uint32(slot)) {
			return slot, true
		}
	}
	return 0, false
}

// bind binds ports of a pool address to a host; who has any of them gives way.
func (g *gateway) bind(address, host netip.Addr, ports ...model.Port) datapath.Binding {
	g.t.Helper()
	for _, p := range ports {
		if old, is := g.bound[public{address, p.Protocol, p.Port}]; is {
			g.unbind(old)
		}
	}
	slot, found := g.vacant()
	if !found {
		g.t.Fatal("no slot is vacant")
	}
	b := datapath.Binding{ID: g.ids<<32 | slot, Address: address, Host: host, Ports: ports}
	g.ids++
	check(g.t, g.data.Bind(b))
	for _, p := range ports {
		g.bound[public{address, p.Protocol, p.Port}] = b
	}
	return b
}

func (g *gateway) unbind(b datapath.Binding) {
	g.t.Helper()
	check(g.t, g.data.Unbind(b.ID))
	for _, p := range b.Ports {
		delete(g.bound, public{b.Address, p.Protocol, p.Port})
	}
}

// tcpPort is a port of TCP that is another on the host.
func tcpPort(port, to uint16) model.Port { return model.Port{Protocol: model.TCP, Port: port, To: to} }

// everything is what opens a whole host.
var everything = model.Port{}

// asker is a resolver that asks for others.
var asker = netip.MustParseAddr("203.0.113.53")

// reserve answers somebody who asked for the binding: with one claim, for whoever comes. change
// may be nil.
func (g *gateway) reserve(b datapath.Binding, change func(*datapath.Reservation)) datapath.Reservation {
	g.t.Helper()
	r := datapath.Reservation{ID: g.ids<<32 | g.ids%1000, Binding: b.ID, Asker: asker, Expires: datapath.Now().Add(time.Minute), Claims: 1}
	g.ids++
	if change != nil {
		change(&r)
	}
	check(g.t, g.data.Reserve(r))
	return r
}

// lend binds a port of the pool to the host, or with port 0 all of the address, unless it is
// already, and reserves it.
func (g *gateway) lend(address netip.Addr, port uint16, host netip.AddrPort, change func(*datapath.Reservation)) datapath.Reservation {
	g.t.Helper()
	p := tcpPort(port, host.Port())
	if port == 0 {
		p = everything
	}
	b, is := g.bound[public{address, p.Protocol, p.Port}]
	if !is || b.Host != host.Addr() || !slices.Contains(b.Ports, p) {
		b = g.bind(address, host.Addr(), p)
	}
	return g.reserve(b, change)
}

// Numbers of the segments that client and host say SYN with.
const (
	clientISN = 1000
	hostISN   = 0xfffffffe // what follows it wraps
)

// segment is tcp with the numbers that the client's or the host's would have.
func segment(from, to netip.AddrPort, flags packets.Flags, sequence, acknowledge uint32) packets.Packet {
	p := tcp(from, to, flags)
	p.TCP.Sequence, p.TCP.Acknowledge = sequence, acknowledge
	return p
}

// answers wants the host's SYN and ACK to pass.
func (g *gateway) answers(client, public, host netip.AddrPort) {
	g.t.Helper()
	g.leaves(g.put(segment(host, client, synAck, hostISN, clientISN+1)), segment(public, client, synAck, hostISN, clientISN+1))
}

// proof is the segment that acknowledges the host's SYN.
func proof(client, to netip.AddrPort) packets.Packet {
	isn := uint32(hostISN)
	return segment(client, to, packets.ACK, clientISN+1, isn+1)
}

// established opens a session from the pool by a full handshake.
func (g *gateway) established(client, public, host netip.AddrPort) {
	g.t.Helper()
	g.leaves(g.put(segment(client, public, packets.SYN, clientISN, 0)), segment(client, host, packets.SYN, clientISN, 0))
	g.answers(client, public, host)
	g.leaves(g.put(proof(client, public)), proof(client, host))
}

// reset wants the packet dropped for the reason and answered by the RST that RFC 9293 section
// 3.10.7.1 describes.
func (g *gateway) reset(r result, p packets.Packet, reason model.Reason) {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != reason {
		g.t.Fatalf("%v, %s, want %s and an RST", r.action, r.reason, reason)
	}
	t := p.Tuple()
	length := uint32(len(p.Payload))
	for _, flag := range []packets.Flags{packets.SYN, packets.FIN} {
		if p.TCP.Flags&flag != 0 {
			length++
		}
	}
	want := segment(t.Destination, t.Source, packets.RST|packets.ACK, 0, p.TCP.Sequence+length)
	if p.TCP.Flags&packets.ACK != 0 {
		want = segment(t.Destination, t.Source, packets.RST, p.TCP.Acknowledge, 0)
	}
	want = want.Between(r.packet.Ethernet.Source, addressed(p).Ethernet.Source)
	want.IPv4.TTL, want.IPv4.DF, want.IPv4.ID, want.TCP.Window = 64, true, 0, 0
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("the RST is not as wanted:\n%s", diff)
	}
}

// connected opens a session from inside by a full handshake and returns its
// outside endpoint.
func (g *gateway) connected(host, to netip.AddrPort) netip.AddrPort {
	g.t.Helper()
	out := g.mapped(tcp(host, to, packets.SYN))
	g.leaves(g.put(tcp(to, out, packets.SYN|packets.ACK)), tcp(to, host, packets.SYN|packets.ACK))
	g.leaves(g.put(tcp(host, to, packets.ACK)), tcp(out, to, packets.ACK))
	return out
}

// idle lets time pass without a packet, and ages the tables.
func (g *gateway) idle(d time.Duration) {
	g.t.Helper()
	check(g.t, dataplane.Age(g.data, d))
	g.sweep()
}

// state returns the only session's state.
func (g *gateway) state() string {
	g.t.Helper()
	list := g.sessions()
	if len(list) != 1 {
		g.t.Fatalf("%d sessions, want 1: %v", len(list), list)
	}
	return list[0].State
}

// count wants so many sessions.
func (g *gateway) count(want int) {
	g.t.Helper()
	if list := g.sessions(); len(list) != want {
		g.t.Fatalf("%d sessions, want %d: %v", len(list), want, list)
	}
}

// host is the n-th of many hosts inside.
func host(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(1 + n/250), byte(1 + n%250)}) }

// same wants two values equal.
func same[T comparable](g *gateway, what string, got, want T) {
	g.t.Helper()
	if got != want {
		g.t.Fatalf("%s: %s, want %s", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}
