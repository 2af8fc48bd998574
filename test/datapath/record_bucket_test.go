package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// evict makes others of the first buckets of the packets' sessions, or of both,
// so that these will stand elsewhere; house undoes it. The tables must be empty.
func (g *gateway) evict(buckets int, list ...packets.Packet) (house func()) {
	g.t.Helper()
	bits := g.table("session_bitmap")
	records := g.table("session_table").MaxEntries()
	taken := make([]uint64, bits.MaxEntries())
	change := func(by func(now, taken uint64) uint64) {
		for word := range taken {
			var now uint64
			check(g.t, bits.Lookup(uint32(word), &now))
			check(g.t, bits.Update(uint32(word), by(now, taken[word]), ebpf.UpdateExist))
		}
	}
	for range buckets {
		for _, p := range list {
			g.mapped(p)
		}
		for word := range taken {
			check(g.t, bits.Lookup(uint32(word), &taken[word]))
			for first := 0; first < 64; first += int(dataplane.BucketRecords) {
				if bucket := uint64(1<<dataplane.BucketRecords-1) << first; taken[word]&bucket != 0 {
					taken[word] |= bucket
				}
			}
			if beyond := 64*(word+1) - int(records); beyond > 0 {
				taken[word] &= ^uint64(0) >> beyond
			}
		}
		g.idle(301 * time.Second)
		g.idle(2 * time.Second)
		g.count(0)
		change(func(now, taken uint64) uint64 { return now | taken })
	}
	return func() { change(func(now, taken uint64) uint64 { return now &^ taken }) }
}

// A session whose bucket is taken works from both sides, also after there is room
// in it again, and when it ends the bucket forgets it.
func TestSessionInOverflow(t *testing.T) {
	t.Parallel()
	for name, indexed := range map[string]int{"in its second bucket": 0, "in neither": 1} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, filtering(model.EndpointIndependent))
			before := g.census()
			house := g.evict(1+indexed, udp(inA, server))
			out := g.mapped(udp(inA, server))
			house()
			same(g, "places of the session index", g.census().SessionIndex, before.SessionIndex+indexed)
			g.leaves(g.put(udp(inA, server)), udp(out, server))
			g.leaves(g.put(udp(server, out)), udp(server, inA))
			g.leaves(g.put(udp(server2, out)), udp(server2, inA)) // in its bucket
			g.leaves(g.put(udp(inA, server2)), udp(out, server2))
			same(g, "places of the session index", g.census().SessionIndex, before.SessionIndex+indexed)
			g.idle(301 * time.Second)
			g.idle(2 * time.Second)
			after := g.census()
			same(g, "places of the session index after all", after.SessionIndex, before.SessionIndex)
			same(g, "free records after all", after.Free, before.Free)
		})
	}
}

// crowd is an endpoint inside; half of their mappings cannot keep the port.
func crowd(n int) netip.AddrPort { return endpoint([]netip.Addr{hostA, hostB}[n%2], uint16(2000+n/2)) }

// The table takes as many sessions as it has records, wherever their buckets are:
// the last ones find a record anywhere. Each is found from both sides.
func TestLastRecords(t *testing.T) {
	t.Parallel()
	g := newGateway(t, capacity(model.MinCapacity))
	before := g.census()
	for range 2 {
		out := make([]packets.Packet, 0, model.MinCapacity)
		for n := range model.MinCapacity {
			in := crowd(n)
			out = append(out, udp(server, g.mapped(udp(in, server))))
		}
		late := udp(endpoint(hostB, 60000), server)
		g.refused(g.put(late), late, "drop_session_table_full", privateAddress, packets.DestinationUnreachable, 1, 0)
		census := g.census()
		same(g, "sessions", census.Sessions, model.MinCapacity)
		same(g, "free records", census.Free, 0)
		for n, p := range out {
			in := crowd(n)
			g.leaves(g.put(p), udp(server, in))
			g.leaves(g.put(udp(in, server)), udp(p.Tuple().Destination, server))
		}
		g.idle(301 * time.Second)
		g.idle(121 * time.Second)
		g.idle(2 * time.Second)
		after := g.census()
		same(g, "census", after, before)
	}
}

// At the last records, too, of packets that would open the same session at once
// one does, and no two sessions get one record.
func TestConcurrentLastRecords(t *testing.T) {
	t.Parallel()
	const threads = 4
	g := newGateway(t, capacity(model.MinCapacity))
	before := g.census()
	g.atOnce(threads, func(thread int) error {
		for n := range model.MinCapacity {
			n = (n + thread*7) % model.MinCapacity
			frame := inside(udp(crowd(n), server)).Bytes()
			if _, err := g.untilForwarded(frame); err != nil {
				return err
			}
		}
		return nil
	})
	census := g.census()
	same(g, "sessions", census.Sessions, model.MinCapacity)
	same(g, "free records", census.Free, 0)
	g.idle(301 * time.Second)
	g.idle(121 * time.Second)
	g.idle(2 * time.Second)
	same(g, "census", g.census(), before)
}
