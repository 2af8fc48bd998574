package bench

import (
	"strings"
	"testing"
)

// flowsOf are so many flows.
func flowsOf(sessions int) Comparison {
	f := fewFlows(1)
	f.Destinations.Count = sessions
	return Comparison{Flows: f}
}

// Devices that hold their memory have it at a time, the others in turns; each has
// a tester. Points of a sweep that are set up alike have their devices in common.
func TestNeeds(t *testing.T) {
	each := func(bytes int64) func(int) int64 { return func(n int) int64 { return bytes * int64(n) } }
	const sessions = 1_000_000
	b := &Bench{Options: Options{Devices: []Model{{Name: "one"}}}}
	c := flowsOf(sessions)
	tester := b.needs([]Comparison{c}, sessions)
	c.Devices = []Model{{Name: "a"}, {Name: "b", Bytes: each(100), Held: true}, {Name: "c", Bytes: each(20)}, {Name: "d", Bytes: each(30)}, {Name: "e", Bytes: each(200), Held: true}}
	if got, want := b.needs([]Comparison{c}, sessions), 5*tester+(100+200+30)*sessions; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got, want := b.needs([]Comparison{c, c}, sessions), b.needs([]Comparison{c}, sessions); got != want {
		t.Errorf("two points set up alike take %d bytes, one takes %d", got, want)
	}
	other := c
	other.Setup.Mark = true
	if got, want := b.needs([]Comparison{c, other}, sessions), 10*tester+(2*100+2*200+30)*sessions; got != want {
		t.Errorf("two points take %d bytes, want %d", got, want)
	}
}

func TestTooLittleMemory(t *testing.T) {
	available, err := AvailableMemory()
	if err != nil {
		t.Fatal(err)
	}
	room := func(bytes func(int) int64, sessions int) error {
		b := &Bench{Options: Options{Devices: []Model{{Bytes: bytes}}}}
		return b.wantRoom([]Comparison{flowsOf(sessions)})
	}
	quarter := func(n int) int64 { return available / 4 * int64(n) }
	if err := room(quarter, 2); err != nil {
		t.Errorf("half of the memory: %v", err)
	}
	err = room(quarter, 1000)
	if err == nil || !strings.HasPrefix(err.Error(), "1000 sessions take ") || !strings.HasSuffix(err.Error(), " are available: 3 would fit (--sessions 3)") {
		t.Errorf("250 times the memory: %v", err)
	}
	all := func(int) int64 { return 2 * available }
	if err := room(all, 10); err == nil || !strings.HasSuffix(err.Error(), ": not even one would fit") {
		t.Errorf("more than there is for one: %v", err)
	}
}
