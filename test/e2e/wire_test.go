package e2e

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// weather is what a wire does to the frames that cross it, each way by itself. Shares are of frames, 0..1; the same seed
// chooses the same ones, by their number.
type weather struct {
	takes  time.Duration // one way
	rate   int           // octets a second, 0: any
	queue  time.Duration // that a frame waits for its turn at most; else it is lost
	lost   float64
	twice  float64 // come twice
	late   float64 // come lateBy later, behind those that were sent after them
	lateBy time.Duration
	seed   uint64
}

// way is one direction of a wire. The clock is passed in.
type way struct {
	weather
	random *rand.Rand
	free   time.Time // the frame before has left
}

func newWay(w weather) *way {
	return &way{weather: w, random: rand.New(rand.NewPCG(w.seed, 1))} //nolint:gosec // the same each time
}

// fate is when a frame of so many octets comes out, how many times, and whether behind others. It is asked in the order
// in which frames go in.
func (w *way) fate(now time.Time, octets int) (due time.Time, times int, late bool) {
	lost, twice, late := w.random.Float64() < w.lost, w.random.Float64() < w.twice, w.random.Float64() < w.late
	if w.free.Before(now) {
		w.free = now
	}
	if lost || w.rate > 0 && w.free.Sub(now) > w.queue {
		return now, 0, false
	}
	if w.rate > 0 {
		w.free = w.free.Add(time.Duration(float64(octets) / float64(w.rate) * float64(time.Second)))
	}
	due, times = w.free.Add(w.takes), 1
	if twice {
		times = 2
	}
	if late {
		due = due.Add(w.lateBy)
	}
	return due, times, late
}

// wire joins two interfaces.
type wire struct {
	mutex sync.Mutex
	ways  [2]*way
}

// turns has the weather be another from now on.
func (w *wire) turns(to weather) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for i := range w.ways {
		to.seed++ // each way its own
		w.ways[i] = newWay(to)
	}
}

func (w *wire) fate(i int, octets int) (due time.Time, times int, late bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ways[i].fate(time.Now(), octets)
}

// wire joins two interfaces of a namespace until the test ends. What is in it, and finds no room, is lost.
func (r *realm) wire(at *netns.Namespace, a, b string, first weather) *wire {
	r.t.Helper()
	var ends [2]*netns.Frames
	for i, ifname := range []string{a, b} {
		frames, err := at.Frames(ifname)
		if err != nil {
			r.t.Fatal(err)
		}
		ends[i] = frames
	}
	w := new(wire)
	w.turns(first)
	type frame struct {
		due    time.Time
		octets []byte
		times  int
	}
	var running sync.WaitGroup
	for i := range ends {
		from, to := ends[i], ends[1-i]
		inTime, late := make(chan frame, 1<<14), make(chan frame, 1<<10)
		running.Go(func() {
			defer close(inTime)
			defer close(late)
			buffer := make([]byte, 65536)
			for {
				n, err := from.Read(buffer)
				if err != nil {
					return
				}
				due, times, isLate := w.fate(i, n)
				if times == 0 {
					continue
				}
				f := frame{due, append([]byte(nil), buffer[:n]...), times}
				if isLate {
					late <- f
				} else {
					inTime <- f
				}
			}
		})
		for _, queue := range []chan frame{inTime, late} {
			clock, err := newAlarm()
			if err != nil {
				r.t.Fatal(err)
			}
			running.Go(func() {
				defer clock.Close()
				for f := range queue {
					if err := clock.until(f.due); err != nil {
						r.t.Errorf("a frame is not held: %v", err)
					}
					for range f.times {
						_ = to.Send(f.octets)
					}
				}
			})
		}
	}
	r.t.Cleanup(func() {
		_, _ = ends[0].Close(), ends[1].Close()
		running.Wait()
	})
	return w
}

// The same seed loses the same frames, as many as it says, and what has no room in the queue.
func TestWeather(t *testing.T) {
	t.Parallel()
	const frames = 100_000
	w := weather{takes: time.Millisecond, lost: 0.01, twice: 0.02, late: 0.03, lateBy: time.Second, seed: 7}
	a, b := newWay(w), newWay(w)
	now := time.Unix(0, 0)
	counts := map[string]int{}
	for range frames {
		due, times, late := a.fate(now, 1500)
		if due2, times2, late2 := b.fate(now, 1500); due2 != due || times2 != times || late2 != late {
			t.Fatal("the same seed, and another fate")
		}
		switch {
		case times == 0:
			counts["lost"]++
		case late:
			counts["late"]++
		case times == 2:
			counts["twice"]++
		}
		if times > 0 && !late && due != now.Add(time.Millisecond) {
			t.Fatalf("due at %s", due)
		}
	}
	for what, share := range map[string]float64{"lost": 0.01, "twice": 0.02, "late": 0.03} {
		if got := float64(counts[what]) / frames; got < 0.8*share || got > 1.2*share {
			t.Errorf("%s are %.4f of all, want %.2f", what, got, share)
		}
	}
	narrow := newWay(weather{rate: 1_500_000, queue: 10 * time.Millisecond}) // a frame of 1500 octets in 1 ms
	arrive := 0
	for range 100 {
		due, times, _ := narrow.fate(now, 1500)
		if arrive += times; times > 0 && due != now.Add(time.Duration(arrive)*time.Millisecond) {
			t.Errorf("frame %d is due at %s", arrive, due.Sub(now))
		}
	}
	if arrive != 11 {
		t.Errorf("%d frames found room in the queue", arrive)
	}
}
