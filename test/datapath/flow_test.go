package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/packets"
)

func endpoint(a netip.Addr, port uint16) netip.AddrPort { return netip.AddrPortFrom(a, port) }

// inside and outside put the frames' link addresses in.
func inside(p packets.Packet) packets.Packet {
	return p.Between(packets.HostMAC, packets.GatewayPrivateMAC)
}
func outside(p packets.Packet) packets.Packet {
	return p.Between(packets.RouterMAC, packets.GatewayPublicMAC)
}

func TestOutboundUDPAndBack(t *testing.T) {
	g := newGateway(t)
	out := g.fromInside(inside(packets.NewUDP(endpoint(hostA, 40000), endpoint(remote, 53), "question")))
	if out.action != datapath.Redirect || out.reason != "forwarded" {
		t.Fatalf("outbound: %v, %s", out.action, out.reason)
	}
	want := packets.NewUDP(endpoint(outbound, 40000), endpoint(remote, 53), "question").Between(out.packet.Ethernet.Source, packets.RouterMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := packets.Diff(want.Bytes(), out.frame); diff != "" {
		t.Fatal(diff)
	}
	back := g.fromOutside(outside(packets.NewUDP(endpoint(remote, 53), endpoint(outbound, 40000), "answer")))
	want = packets.NewUDP(endpoint(remote, 53), endpoint(hostA, 40000), "answer").Between(back.packet.Ethernet.Source, packets.HostMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := packets.Diff(want.Bytes(), back.frame); diff != "" || back.action != datapath.Redirect {
		t.Fatal(back.action, back.reason, diff)
	}
	if n := len(g.sessions()); n != 1 {
		t.Fatalf("%d sessions, want 1", n)
	}
}

func TestClaimOpensASession(t *testing.T) {
	g := newGateway(t)
	syn := outside(packets.NewTCP(endpoint(remote, 50000), endpoint(pool1, 80), packets.SYN, ""))
	if r := g.fromOutside(syn); r.reason != "drop_no_reservation" || r.action != datapath.Drop {
		t.Fatalf("without a reservation: %v, %s", r.action, r.reason)
	}
	check(t, g.data.Offer(datapath.Reservation{ID: 1<<32 | 7, Address: pool1, Protocol: model.TCP, Port: 80, Host: hostA, HostPort: 8080,
		Expires: datapath.Now().Add(2 * time.Second), Claims: 1}))
	r := g.fromOutside(syn)
	if r.reason != "forwarded" {
		t.Fatalf("first packet: %v, %s", r.action, r.reason)
	}
	want := packets.NewTCP(endpoint(remote, 50000), endpoint(hostA, 8080), packets.SYN, "").Between(r.packet.Ethernet.Source, packets.HostMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := packets.Diff(want.Bytes(), r.frame); diff != "" {
		t.Fatal(diff)
	}
	r = g.fromInside(inside(packets.NewTCP(endpoint(hostA, 8080), endpoint(remote, 50000), packets.SYN|packets.ACK, "")))
	want = packets.NewTCP(endpoint(pool1, 80), endpoint(remote, 50000), packets.SYN|packets.ACK, "").Between(r.packet.Ethernet.Source, packets.RouterMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := packets.Diff(want.Bytes(), r.frame); diff != "" {
		t.Fatal(r.reason, diff)
	}
	other := outside(packets.NewTCP(endpoint(remote2, 50000), endpoint(pool1, 80), packets.SYN, ""))
	if r := g.fromOutside(other); r.reason != "drop_reservation_spent" {
		t.Fatalf("a second source: %v, %s", r.action, r.reason)
	}
}
