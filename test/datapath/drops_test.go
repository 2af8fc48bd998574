package datapath

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// keptOfDrops is DROP_FRAME.
const keptOfDrops = 128

// Who watches drops sees how each frame began, as it came in.
func TestDropsHaveTheirFrames(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	drops, unwatch := g.watchDrops(1)
	defer unwatch()
	for _, length := range []int{0, 1, 85, 86, 87, 600, 1472} { // 42 octets of headers
		p := packets.NewUDP(endpoint(remote, 40000), endpoint(pool1, 80), strings.Repeat("0123456789", 148)[:length])
		g.put(p)
		drop, frame := <-drops, addressed(p).Bytes()
		same(g, "reason", drop.Reason, "drop_no_binding")
		same(g, "interface", drop.Interface, g.public)
		same(g, "length", drop.Length, len(frame))
		if want := frame[:min(keptOfDrops, len(frame))]; !bytes.Equal(drop.Frame, want) {
			t.Errorf("of %d octets it has %x, want %x", len(frame), drop.Frame, want)
		}
	}
}

// Under a flood samples are few, and each says how many the CPU did not tell of before it.
func TestDropsThatNoSampleTellsOf(t *testing.T) {
	t.Parallel()
	const (
		ports = 60_000
		long  = 600 * time.Millisecond // more than two ticks
	)
	g := newGateway(t)
	drops, unwatch := g.watchDrops(1 << 16) // more than there are samples
	sent := 0
	g.in(func() error {
		var one unix.CPUSet
		one.Set(0)
		if err := unix.SchedSetaffinity(0, &one); err != nil { // of this thread, which ends with the function
			return err
		}
		for begun := datapath.Now(); datapath.Now().Sub(begun) < long; sent++ {
			p := udp(endpoint(remote, uint16(1+sent%ports)), endpoint(pool1, uint16(1+sent/ports)))
			if _, _, err := g.inject(true, g.public, addressed(p).Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
	unwatch()
	told, missed := uint64(0), uint64(0)
	for drop := range drops {
		from, to := drop.Tuple.Source.Port(), drop.Tuple.Destination.Port()
		before := uint64(to-1)*ports + uint64(from-1)
		if missed = drop.Missed; missed != before-told || drop.CPU != 0 {
			t.Fatalf("CPU %d told of %d and missed %d before the frame %d", drop.CPU, told, missed, before)
		}
		told++
	}
	if missed == 0 || told == 0 {
		t.Errorf("of %d drops %d were told and %d missed", sent, told, missed)
	}
}

// watchDrops has a channel with room for so many drops; once nobody watches it is closed.
func (g *gateway) watchDrops(room int) (drops chan datapath.DropEvent, unwatch func()) {
	g.t.Helper()
	drops = make(chan datapath.DropEvent, room)
	watch := &datapath.Watch{Drop: func(e datapath.DropEvent) { drops <- e }, Failed: func(err error) { g.t.Error(err) }}
	check(g.t, g.data.Watch(watch))
	return drops, sync.OnceFunc(func() { g.data.Unwatch(watch); close(drops) })
}
