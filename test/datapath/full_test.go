package datapath

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// Whom the full table refuses takes nothing else with it: no port that others
// would miss, no place in an index.
func TestFullTableTakesNothing(t *testing.T) {
	t.Parallel()
	g, _ := exhausted(t)
	before := g.census()
	for n := range uint16(500) {
		for _, p := range []packets.Packet{
			udp(endpoint(hostA, 2048+n), server), tcp(endpoint(hostA, 2048+n), web, packets.SYN), echo(hostA, remote, 2048+n),
		} {
			same(g, "reason", g.put(p).reason, "drop_session_table_full")
		}
	}
	same(g, "census", g.census(), before)
	g.idle(301 * time.Second)
	g.idle(2 * time.Second)
	same(g, "outside endpoint", g.mapped(udp(endpoint(hostB, 2048), server)), endpoint(outbound, 2048)) // of those refused
}

// Whom the full table refuses may come again: the claim is still its own.
func TestFullTableSpendsNoClaim(t *testing.T) {
	t.Parallel()
	g, _ := exhausted(t)
	g.lend(pool1, 80, service, nil)
	whole := g.lend(pool2, 0, endpoint(hostB, 0), nil)
	for range 2 {
		g.dropped(g.put(syn(client)), "drop_session_table_full")
		g.dropped(g.put(udp(client, endpoint(pool2, 53))), "drop_session_table_full")
	}
	same(g, "what became of the other", must(g.data.Withdraw(whole.ID))(t), datapath.Withdrawn{Left: 1})
	g.idle(301 * time.Second)
	g.idle(2 * time.Second)
	g.established(client, lent, service)
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
}

// Mappings that could not keep the inside port keep their places in the index
// while their ports are in quarantine: it can be full before the table.
func TestFullMappingIndex(t *testing.T) {
	t.Parallel()
	const most = 1500 // places of the index for MinCapacity sessions, and some
	g := newGateway(t, capacity(model.MinCapacity), filtering(model.EndpointIndependent), timeouts(func(s *datapath.Settings) { s.PortQuarantine = time.Hour }))
	var refused []packets.Packet
	for n := range uint16(4 * most) {
		p := udp(endpoint([]netip.Addr{hostA, hostB}[n%2], 1024+n/2), server)
		switch r := g.put(p); r.reason {
		case "forwarded":
		case "drop_mapping_index_full":
			refused = append(refused, p)
		default:
			t.Fatalf("mapping %d: %s", n, r.reason)
		}
		if n%1000 == 999 { // before the table is full
			g.idle(301 * time.Second)
			g.idle(2 * time.Second)
		}
	}
	if len(refused) < most {
		t.Fatalf("%d refused, want %d at least", len(refused), most)
	}
	census := g.census()
	same(g, "mappings and refused", census.Mappings+len(refused), 4*most)
	same(g, "ports in use", census.Ports, census.Mappings+9) // port 0 of each protocol and slot
	g.idle(2 * time.Hour)
	g.idle(2 * time.Hour)
	g.leaves(g.put(refused[0]), udp(endpoint(outbound, refused[0].UDP.Source), server))
}

// bucket is struct bucket of bpf/include/types.h.
type bucket struct{ Slot [16]uint32 }

// stuff takes every free place of the session index, and returns what gives
// them back. No table below capacity comes to it: nobody could choose tuples
// that meet in one bucket without the secret of the hash.
func (g *gateway) stuff() (release func()) {
	g.t.Helper()
	const nobodys = 1 << 31 // a tag without a record
	index := g.table("session_index")
	replace := func(old, by uint32) {
		for number := range index.MaxEntries() {
			var b bucket
			check(g.t, index.Lookup(number, &b))
			for i := range b.Slot {
				if b.Slot[i] == old {
					b.Slot[i] = by
				}
			}
			check(g.t, index.Update(number, &b, ebpf.UpdateExist))
		}
	}
	replace(0, nobodys)
	return func() { replace(nobodys, 0) }
}

func TestFullSessionIndex(t *testing.T) {
	t.Parallel()
	g := newGateway(t, capacity(model.MinCapacity), filtering(model.EndpointIndependent))
	before := g.census()
	house := g.evict(2, udp(inB, server), udp(inA, server2))
	out := g.mapped(udp(inA, server))
	g.lend(pool1, 80, service, nil)
	release := g.stuff()
	p := udp(inB, server)
	g.refused(g.put(p), p, "drop_session_index_full", privateAddress, packets.DestinationUnreachable, 1, 0)
	g.dropped(g.put(udp(server2, out)), "drop_session_index_full")
	g.dropped(g.put(syn(client)), "drop_session_index_full")
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	release()
	house()
	after := g.census() // and no table keeps a trace that another misses
	same(g, "places of the session index", after.SessionIndex, before.SessionIndex)
	g.count(1)
	g.leaves(g.put(p), udp(endpoint(outbound, inB.Port()), server))
	g.leaves(g.put(udp(server2, out)), udp(server2, inA))
}

// Whose lock another CPU holds for too long is dropped, not queued; open
// sessions take none.
func TestBusyLock(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.lend(pool1, 80, service, nil)
	before := g.census()
	locks := g.table("locks")
	hold := func(held uint32) {
		stripe := make([]byte, locks.ValueSize())
		binary.NativeEndian.PutUint32(stripe, held)
		for number := range locks.MaxEntries() {
			check(t, locks.Update(number, stripe, ebpf.UpdateExist))
		}
	}
	hold(1)
	g.dropped(g.put(udp(inB, server)), "drop_busy")
	g.dropped(g.put(udp(server2, out)), "drop_busy")
	g.dropped(g.put(syn(client)), "drop_busy")
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	same(g, "census", g.census(), before)
	g.idle(301 * time.Second)
	g.count(1) // the sweep does not wait either
	hold(0)
	g.leaves(g.put(udp(inB, server)), udp(endpoint(outbound, inB.Port()), server))
	g.leaves(g.put(udp(server2, out)), udp(server2, inA))
	g.visits(client)
}
