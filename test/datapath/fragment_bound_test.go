package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/test/dataplane"
)

// A sender has 64 buckets of contexts, however many packets it sends in fragments; its oldest give way.
func TestFirstFragmentsOfOneSenderAreBounded(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	const packets = 2000
	for n := range packets {
		pieces := divided(filled(udp(inA, server), 400), uint16(n), 200)
		g.forwarded(g.put(pieces[0]))
		if n%100 == 99 {
			g.forwarded(g.put(pieces[1]))
		}
	}
	buckets, contexts := 0, 0
	var place uint32
	var words [8]uint64
	entries := g.table("fragment_contexts").Iterate()
	for entries.Next(&place, &words) {
		used := 0
		for i := 1; i < len(words); i += 2 {
			if words[i] != 0 {
				used++
			}
		}
		contexts += used
		buckets += min(used, 1)
	}
	check(t, entries.Err())
	if buckets > 64 || contexts > 256 || contexts < 200 {
		t.Errorf("%d packets of one sender have %d places in %d buckets", packets, contexts, buckets)
	}
}

// A packet has eight slots: of more early fragments the rest are dropped, and what comes in order passes all the same.
func TestMoreEarlyFragmentsThanSlots(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	pieces := divided(filled(udp(inA, server), 2400), 7, 200)
	for _, p := range pieces[1:] {
		if r := g.put(p); r.action != dataplane.Drop || r.reason != "held_fragment" && r.reason != "drop_fragment" {
			t.Fatalf("%v, %s", r.action, r.reason)
		}
	}
	same(g, "slots that are taken", g.held(), 8)
	g.passes(divided(filled(udp(inA, server), 2400), 8, 200), filled(udp(endpoint(outbound, inA.Port()), server), 2400))
}
