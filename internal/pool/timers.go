package pool

import "github.com/realmgate/realmgate/internal/model"

// timers is a heap of table entries by time, four children a node. Reservations end
// in the order they were made, so that adding hardly ever moves anything.
type timers struct {
	heap     []timer
	position []int32 // of each entry in heap, -1 when it is not there
}

type timer struct {
	at    model.Instant
	entry int32
}

// set gives the entry the time at, whether it had one or not.
func (t *timers) set(entry int32, at model.Instant) {
	for int(entry) >= len(t.position) {
		t.position = append(t.position, -1)
	}
	i := t.position[entry]
	if i < 0 {
		i = int32(len(t.heap))
		t.heap = append(t.heap, timer{})
	}
	t.sift(i, timer{at, entry})
}

func (t *timers) remove(entry int32) {
	if int(entry) >= len(t.position) || t.position[entry] < 0 {
		return
	}
	i, last := t.position[entry], int32(len(t.heap)-1)
	moved := t.heap[last]
	t.heap = t.heap[:last]
	t.position[entry] = -1
	if i != last {
		t.sift(i, moved)
	}
}

// get returns the entry's time.
func (t *timers) get(entry int32) (model.Instant, bool) {
	if int(entry) >= len(t.position) || t.position[entry] < 0 {
		return 0, false
	}
	return t.heap[t.position[entry]].at, true
}

// sift puts x at node i, then moves it up or down to where it belongs.
func (t *timers) sift(i int32, x timer) {
	for i > 0 {
		parent := (i - 1) / 4
		if t.heap[parent].at <= x.at {
			break
		}
		t.put(i, t.heap[parent])
		i = parent
	}
	for {
		least := 4*i + 1
		if int(least) >= len(t.heap) {
			break
		}
		for child := least + 1; child < min(4*i+5, int32(len(t.heap))); child++ {
			if t.heap[child].at < t.heap[least].at {
				least = child
			}
		}
		if x.at <= t.heap[least].at {
			break
		}
		t.put(i, t.heap[least])
		i = least
	}
	t.put(i, x)
}

func (t *timers) put(i int32, x timer) {
	t.heap[i] = x
	t.position[x.entry] = i
}

// first returns the earliest time and its entry.
func (t *timers) first() (timer, bool) {
	if len(t.heap) == 0 {
		return timer{}, false
	}
	return t.heap[0], true
}

// until appends every timer whose time is now or earlier, in no order.
func (t *timers) until(now model.Instant, found []timer) []timer {
	return t.walk(0, now, found)
}

func (t *timers) walk(i int32, now model.Instant, found []timer) []timer {
	if int(i) >= len(t.heap) || t.heap[i].at > now {
		return found
	}
	found = append(found, t.heap[i])
	for child := 4*i + 1; child <= 4*i+4; child++ {
		found = t.walk(child, now, found)
	}
	return found
}
