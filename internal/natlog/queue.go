package natlog

import "time"

// queueRoom is how many records wait for a sink at most: the ends of what a sweep ends at once.
const queueRoom = 1 << 16

// queue is what waits for one sink, the oldest first. It has neither a lock nor a clock. Of the records put in, each is
// delivered, lost or waits.
type queue struct {
	room      int
	waiting   []Record
	since     uint64 // records lost since the last that found room
	delivered uint64
	lost      uint64
}

// put adds a record, which is lost where there is no room. Before the first that finds room again stands how many were lost.
func (q *queue) put(r Record) {
	if len(q.waiting) >= q.room || q.since > 0 && len(q.waiting)+1 >= q.room {
		q.since++
		q.lost++
		return
	}
	if q.since > 0 {
		q.say(r.Time, r.Synchronised)
	}
	q.waiting = append(q.waiting, r)
}

// say puts in how many were lost.
func (q *queue) say(at time.Time, synchronised bool) {
	q.waiting = append(q.waiting, Record{Time: at, Kind: Lost, Synchronised: synchronised, Count: q.since, Reason: "queue full"})
	q.since = 0
}

// first returns up to most records, which go on waiting.
func (q *queue) first(most int) []Record { return q.waiting[:min(most, len(q.waiting))] }

// done says that the first n records are delivered, but for some that were lost on their way.
func (q *queue) done(n, lost int) {
	for _, r := range q.waiting[:n] {
		if r.Kind != Lost { // who counts what was put in has not counted it
			q.delivered++
		}
	}
	q.delivered -= uint64(lost)
	q.lost += uint64(lost)
	q.waiting = q.waiting[n:]
}

// abandon gives up what waits.
func (q *queue) abandon() {
	q.lost += uint64(len(q.waiting))
	q.waiting = nil
}
