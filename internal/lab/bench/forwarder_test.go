package bench

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// handler is a device in the test: it is given the n-th frame of the initiator,
// from 0 on, and returns what leaves towards the responder.
type handler func(n int, frame []byte) [][]byte

// forwarder passes the initiator's frames on through user space, each held for a
// while, until the test ends.
func forwarder(t *testing.T, r *Rig, hold time.Duration, handle handler) {
	t.Helper()
	open := func(name string) *netns.Frames {
		f, err := r.Device.Frames(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	in, out := open(PrivateInterface), open(PublicInterface)
	type held struct {
		frame []byte
		until time.Time
	}
	queue := make(chan held, 1<<14)
	var done sync.WaitGroup
	done.Add(2)
	go func() {
		defer done.Done()
		defer close(queue)
		for n := 0; ; {
			frame, err := in.Receive(time.Now().Add(time.Minute))
			if err != nil {
				if !errors.Is(err, os.ErrClosed) {
					t.Error(err)
				}
				return
			}
			if len(frame) < 60 || binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
				continue
			}
			copy(frame, r.Public.Device)
			copy(frame[6:], r.Public.MAC)
			for _, f := range handle(n, frame) {
				queue <- held{f, time.Now().Add(hold)}
			}
			n++
		}
	}()
	go func() {
		defer done.Done()
		for h := range queue {
			time.Sleep(time.Until(h.until)) // it is what this device does
			if err := out.Send(h.frame); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Error(err)
		}
		done.Wait()
	})
}

// slowPlan is slow enough for user space.
func slowPlan(flows trafficgen.Flows) trafficgen.Plan {
	p := testPlan(flows)
	p.Rate, p.Batch = 2000, 1
	return p
}

// A delay is what the device holds a frame for and no less; what it holds frames for
// longer is what they take longer. Both holds are the least of what a bucket counts.
func TestLatencyOfADeviceThatHoldsFrames(t *testing.T) {
	const hold, longer = 5 << 22 * time.Nanosecond, 5 << 23 * time.Nanosecond // 21 and 42 ms
	least, median := heldDelays(t, hold)
	leastLonger, medianLonger := heldDelays(t, longer)
	t.Logf("held for %s: at least %s, median %s; for %s: %s, %s", hold, least, median, longer, leastLonger, medianLonger)
	if least < hold || leastLonger < longer || median < least || medianLonger < leastLonger {
		t.Error("a frame took less than the device held it")
	}
	// The median is also that of a busy machine's program; the least is not.
	const precision = longer / 32 // as a bucket's
	if added := leastLonger - least; added < longer-hold-precision || added > longer-hold+precision {
		t.Errorf("held %s longer, frames took %s longer", longer-hold, added)
	}
}

// heldDelays returns the least delay and the least median of bursts of frames that a
// device holds.
func heldDelays(t *testing.T, hold time.Duration) (least, median time.Duration) {
	t.Helper()
	const bursts, frames, stampEvery = 8, 300, 4
	r, g := testRig(t, frames)
	forwarder(t, r, hold, func(_ int, frame []byte) [][]byte { return [][]byte{frame} })
	// All at once: a generator that keeps a rate would take a CPU from the device.
	p := testPlan(fewFlows(frames))
	p.StampEvery = stampEvery
	least, median = time.Hour, time.Hour
	for range bursts {
		o := run(t, g, p)
		if o.Lost() != 0 || o.Wrong() != 0 {
			t.Fatalf("%+v", o)
		}
		if n := o.Latency.Count(); n != frames/stampEvery {
			t.Errorf("%d delays of %d frames, every %dth stamped", n, frames, stampEvery)
		}
		least, median = min(least, o.Latency.Quantile(0)), min(median, o.Latency.Quantile(0.5))
	}
	p.StampEvery = 0
	if o := run(t, g, p); o.Latency.Count() != 0 {
		t.Errorf("%d delays of frames without the time in them", o.Latency.Count())
	}
	return least, median
}

// Faults of chosen frames are counted as what they are, and no others.
func TestSinkCountsWhatADeviceDoesWrong(t *testing.T) {
	type counts = trafficgen.Counters
	corrupt := func(at int, fixed ...int) handler {
		return func(n int, frame []byte) [][]byte {
			if n%50 == 7 {
				frame[at] ^= 1
				for _, sum := range fixed {
					adjust(frame[sum:], frame[at:], at)
				}
			}
			return [][]byte{frame}
		}
	}
	var kept []byte
	for _, c := range []struct {
		what   string
		handle handler
		lost   uint64
		want   counts
		pool   trafficgen.Addresses
	}{
		{"nothing", func(_ int, frame []byte) [][]byte { return [][]byte{frame} }, 0, counts{Received: 200}, trafficgen.Addresses{}},
		{"loses", func(n int, frame []byte) [][]byte {
			if n%50 == 7 || n == 199 {
				return nil
			}
			return [][]byte{frame}
		}, 5, counts{Received: 195}, trafficgen.Addresses{}},
		{"duplicates", func(n int, frame []byte) [][]byte {
			if n%50 == 7 {
				return [][]byte{frame, frame}
			}
			return [][]byte{frame}
		}, 0, counts{Received: 204, Duplicate: 4}, trafficgen.Addresses{}},
		{"sends each to its port and to another", func(_ int, frame []byte) [][]byte {
			other := append([]byte(nil), frame...)
			other[37] ^= 1
			adjust(other[40:], other[37:], 37)
			return [][]byte{other, frame}
		}, 0, counts{Received: 400, Misdirected: 200}, trafficgen.Addresses{}},
		{"swaps", func(n int, frame []byte) [][]byte {
			switch n % 50 {
			case 7:
				kept = frame
				return nil
			case 8:
				return [][]byte{frame, kept}
			}
			return [][]byte{frame}
		}, 0, counts{Received: 200, Reordered: 4}, trafficgen.Addresses{}},
		// The time is 0 here, and the last octet of the 64 that a frame has.
		{"changes the payload", corrupt(59), 0, counts{Received: 200, Corrupt: 4}, trafficgen.Addresses{}},
		{"changes the header's checksum", corrupt(24), 0, counts{Received: 200, Corrupt: 4}, trafficgen.Addresses{}},
		{"sends to another address", corrupt(33, 24, 40), 4, counts{Received: 200, Misdirected: 4}, trafficgen.Addresses{}},
		{"sends to another port", corrupt(37, 40), 4, counts{Received: 200, Misdirected: 4}, trafficgen.Addresses{}},
		{"translates though it should not", corrupt(29, 24, 40), 0, counts{Received: 200, Untranslated: 4}, trafficgen.Addresses{}},
		{"does not translate", func(_ int, frame []byte) [][]byte { return [][]byte{frame} }, 0, counts{Received: 200, Untranslated: 200},
			trafficgen.Addresses{First: FirstTranslated, Count: 4}},
		{"changes the payload's length", func(n int, frame []byte) [][]byte {
			if n%50 == 7 {
				return [][]byte{frame[:50]}
			}
			return [][]byte{frame}
		}, 4, counts{Received: 196}, trafficgen.Addresses{}},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, g := testRig(t, 200)
			forwarder(t, r, 0, c.handle)
			p := slowPlan(fewFlows(200))
			p.Pool, p.Wait = c.pool, 500*time.Millisecond
			o := run(t, g, p)
			if o.Responder.Other = 0; o.Responder != c.want || o.Lost() != c.lost {
				t.Errorf("%d lost, %+v; want %d, %+v", o.Lost(), o.Responder, c.lost, c.want)
			}
		})
	}
}

// A device that gives a session another external port is found out.
func TestSinkCountsSessionsThatMove(t *testing.T) {
	r, g := testRig(t, 200)
	forwarder(t, r, 0, func(n int, frame []byte) [][]byte {
		if n >= 200 && n%50 == 7 {
			frame[35] ^= 1 // source port
			adjust(frame[40:], frame[35:], 35)
		}
		return [][]byte{frame}
	})
	p := slowPlan(fewFlows(200))
	if o := run(t, g, p); o.Wrong() != 0 {
		t.Fatalf("%+v", o)
	}
	if o := run(t, g, p); o.Responder.Moved != 4 || o.Responder.Untranslated != 4 {
		t.Errorf("%+v", o.Responder)
	}
}

// adjust corrects an Internet checksum (RFC 1624) for the flip of the lowest bit of
// an octet, which stands at an even or odd place.
func adjust(sum, octet []byte, place int) {
	change := uint32(1)
	if place%2 == 0 {
		change <<= 8
	}
	if octet[0]&1 == 1 { // it grew
		change = 0xffff - change
	}
	total := uint32(binary.BigEndian.Uint16(sum)) + change
	binary.BigEndian.PutUint16(sum, uint16(total&0xffff+total>>16))
}
