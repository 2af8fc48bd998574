package scenario

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// What comes is the packet, one that was given up, a copy, one that is to go elsewhere, or
// another program's.
func TestArrivals(t *testing.T) {
	t.Parallel()
	outside, elsewhere, nat := packets.At("198.19.0.2:53"), packets.At("198.19.0.3:53"), packets.At("198.18.0.1:40000")
	sent := func(payload string) packets.Packet { return packets.NewUDP(packets.At("10.0.0.2:7"), outside, payload) }
	came := func(payload string) packets.Packet { return packets.NewUDP(nat, outside, payload) }
	a := newAwaiting(bench.Sources, bench.Destinations)
	want := func(got packets.Packet, is arrival) {
		t.Helper()
		if what := a.sort(got, false); what != is {
			t.Errorf("%v is %d, want %d", got, what, is)
		}
	}
	a.next(a.identify(sent("one"), false))
	want(came("one"), awaited)
	a.next(a.identify(sent("two"), false))
	want(came("one"), doubled)
	want(packets.NewUDP(nat, elsewhere, "two"), misdirected)
	want(packets.NewUDP(nat, packets.At("198.19.0.2:54"), "two"), misdirected)
	want(came("changed"), misdirected)
	want(packets.NewUDP(packets.At("192.0.2.1:7"), packets.At("192.0.2.2:7"), "two"), foreign)
	a.giveUp()
	a.next(a.identify(sent("three"), false))
	want(came("two"), late)
	want(came("three"), awaited)
	if a.arrivals != [...]int{foreign: 1, awaited: 2, late: 1, doubled: 1, misdirected: 3} {
		t.Errorf("counted %v", a.arrivals)
	}

	// An answer comes from the far end itself, and from nobody else.
	inside := packets.At("10.0.0.2:7")
	b := newAwaiting(bench.Sources, bench.Destinations)
	b.next(b.identify(packets.NewUDP(outside, inside, "answer"), true))
	if what := b.sort(packets.NewUDP(nat, inside, "answer"), true); what != misdirected {
		t.Errorf("an answer from another is %d", what)
	}
	if what := b.sort(packets.NewUDP(outside, inside, "answer"), true); what != awaited {
		t.Errorf("an answer is %d", what)
	}
}
