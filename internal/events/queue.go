package events

// queueRoom is how many events wait for a sink at most.
const queueRoom = 1024

// entry is an event that waits, and how many were lost just before it.
type entry struct {
	record *record
	lost   uint64
}

// queue is what waits for one sink, the oldest first. It has neither a lock nor a clock.
// Of the events put in, each is delivered, lost or waits.
type queue struct {
	room      int
	waiting   []entry
	since     uint64 // events lost since the last that found room
	delivered uint64
	lost      uint64
}

// put adds an event, which is lost where there is no room.
func (q *queue) put(r *record) {
	if len(q.waiting) >= q.room {
		q.lost++
		q.since++
		return
	}
	q.waiting = append(q.waiting, entry{r, q.since})
	q.since = 0
}

// putLast adds the last event of all, for which there is room always.
func (q *queue) putLast(r *record) {
	q.room++
	q.put(r)
}

// first returns up to most events, which go on waiting.
func (q *queue) first(most int) []entry { return q.waiting[:min(most, len(q.waiting))] }

// done says that the first n events are delivered.
func (q *queue) done(n int) {
	q.delivered += uint64(n)
	q.waiting = q.waiting[n:]
}

// lose says that the first n events are lost, which whoever comes next is told.
func (q *queue) lose(n int) {
	lost := uint64(n)
	for _, e := range q.waiting[:n] {
		lost += e.lost
	}
	q.lost += uint64(n)
	q.waiting = q.waiting[n:]
	if len(q.waiting) > 0 {
		q.waiting[0].lost += lost
	} else {
		q.since += lost
	}
}

// abandon gives up what waits.
func (q *queue) abandon() {
	q.lost += uint64(len(q.waiting))
	q.waiting = nil
}
