package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
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
	t.Parallel()
	g := newGateway(t)
	out := g.fromInside(inside(packets.NewUDP(endpoint(hostA, 40000), endpoint(remote, 53), "question")))
	if out.action != dataplane.Redirect || out.reason != "forwarded" {
		t.Fatalf("outbound: %v, %s", out.action, out.reason)
	}
	want := packets.NewUDP(endpoint(outbound, 40000), endpoint(remote, 53), "question").Between(out.packet.Ethernet.Source, packets.RouterMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := frames.Diff(want.Bytes(), out.frame); diff != "" {
		t.Fatal(diff)
	}
	back := g.fromOutside(outside(packets.NewUDP(endpoint(remote, 53), endpoint(outbound, 40000), "answer")))
	want = packets.NewUDP(endpoint(remote, 53), endpoint(hostA, 40000), "answer").Between(back.packet.Ethernet.Source, packets.HostMAC)
	want.IPv4.TTL = packets.TTL - 1
	if diff := frames.Diff(want.Bytes(), back.frame); diff != "" || back.action != dataplane.Redirect {
		t.Fatal(back.action, back.reason, diff)
	}
	if n := len(g.sessions()); n != 1 {
		t.Fatalf("%d sessions, want 1", n)
	}
}
