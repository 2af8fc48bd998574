package datapath

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// The number of a session's next hop is one of the table that real packets see: a dry run, which has another, asks for
// its way anew. So it does where another neighbour has that number there.
func TestDryRunAsksForItsWay(t *testing.T) {
	t.Parallel()
	const wide, narrow = 1500, 600
	g := newGateway(t)
	g.in(func() error {
		return netlink.RouteAdd(&netlink.Route{Dst: &net.IPNet{IP: remote2.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: router.AsSlice(), MTU: narrow, MTULock: true})
	})
	dry := g.dryRun(nil)
	g.dryEnd(dry, false, udp(inB, server2).Bytes()) // loads the programs, and learns the narrow way
	g.mapped(udp(inA, server2))
	session := g.openedBy(udp(inA, server))
	hops := g.table("next_hops")
	one, other := hopOf(g, hops, wide), hopOf(g, hops, narrow)
	check(t, hops.Put(other, must(hops.LookupBytes(one))(t)))
	g.leadBy(session, one, other)
	big := packets.NewUDP(inA, server, strings.Repeat("x", 1000))
	g.dryEnd(dry, false, udp(inB, server2).Bytes())
	if end := g.dryEnd(dry, false, big.Bytes()); end != "forwarded" {
		t.Errorf("dry it ends with %s", end)
	}
	g.forwarded(g.put(big))
}

// openedBy is the number of the session that a packet opens.
func (g *gateway) openedBy(p packets.Packet) uint32 {
	g.t.Helper()
	before := map[uint32]bool{}
	for _, s := range g.sessions() {
		before[s.Number()] = true
	}
	g.mapped(p)
	for _, s := range g.sessions() {
		if !before[s.Number()] {
			return s.Number()
		}
	}
	g.t.Fatalf("%v opened none", p)
	return 0
}

// hopOf is the number of the next hop with that MTU.
func hopOf(g *gateway, hops *ebpf.Map, mtu uint16) uint32 {
	g.t.Helper()
	for n := range hops.MaxEntries() {
		if value := must(hops.LookupBytes(n))(g.t); binary.NativeEndian.Uint16(value[6:]) == mtu {
			return n
		}
	}
	g.t.Fatalf("there is no next hop with an MTU of %d", mtu)
	return 0
}

// leadBy gives a session that leaves by one next hop another.
func (g *gateway) leadBy(session, from, to uint32) {
	g.t.Helper()
	const at = 36 // next_hop_out
	table := g.table("session_table")
	value := must(table.LookupBytes(session))(g.t)
	if has := binary.NativeEndian.Uint16(value[at:]); uint32(has) != from {
		g.t.Fatalf("session %d leaves by %d, want %d", session, has, from)
	}
	binary.NativeEndian.PutUint16(value[at:], uint16(to))
	check(g.t, table.Put(session, value))
}
