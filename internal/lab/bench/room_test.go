package bench

import (
	"strings"
	"testing"
)

// Devices that hold their memory have it at a time, the others in turns; each has
// a tester.
func TestNeeds(t *testing.T) {
	each := func(bytes int64) func(int) int64 { return func(n int) int64 { return bytes * int64(n) } }
	const sessions = 1_000_000
	tester := needs([]Model{{}}, sessions)
	models := []Model{{}, {Bytes: each(100), Held: true}, {Bytes: each(20)}, {Bytes: each(30)}, {Bytes: each(200), Held: true}}
	if got, want := needs(models, sessions), 5*tester+(100+200+30)*sessions; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestTooLittleMemory(t *testing.T) {
	available, err := AvailableMemory()
	if err != nil {
		t.Fatal(err)
	}
	quarter := func(n int) int64 { return available / 4 * int64(n) }
	models := []Model{{Bytes: quarter}}
	if err := wantRoom(models, 2); err != nil {
		t.Errorf("half of the memory: %v", err)
	}
	err = wantRoom(models, 1000)
	if err == nil || !strings.HasPrefix(err.Error(), "1000 sessions take ") || !strings.HasSuffix(err.Error(), " are available: 3 would fit (--sessions 3)") {
		t.Errorf("250 times the memory: %v", err)
	}
	all := func(int) int64 { return 2 * available }
	if err := wantRoom([]Model{{Bytes: all}}, 10); err == nil || !strings.HasSuffix(err.Error(), ": not even one would fit") {
		t.Errorf("more than there is for one: %v", err)
	}
}
