package pact

// queue is an order of numbers 0 to n-1, each in it at most once: first in, first out, and any of them taken out of the
// middle. All steps are O(1).
type queue struct {
	next, prev []int32 // n is head and tail; -1: not in it
	length     int
}

func newQueue(n int) *queue {
	q := &queue{next: make([]int32, n+1), prev: make([]int32, n+1)}
	for i := range n {
		q.next[i], q.prev[i] = -1, -1
	}
	q.next[n], q.prev[n] = int32(n), int32(n)
	return q
}

func (q *queue) has(i int) bool { return q.next[i] >= 0 }

// push puts i behind the others, if it is not among them.
func (q *queue) push(i int) {
	if q.has(i) {
		return
	}
	end := int32(len(q.next) - 1)
	last := q.prev[end]
	q.next[last], q.prev[i], q.next[i], q.prev[end] = int32(i), last, end, int32(i)
	q.length++
}

// first is that which is in it longest.
func (q *queue) first() (int, bool) {
	end := len(q.next) - 1
	return int(q.next[end]), q.length > 0
}

func (q *queue) remove(i int) {
	if !q.has(i) {
		return
	}
	q.next[q.prev[i]], q.prev[q.next[i]] = q.next[i], q.prev[i]
	q.next[i], q.prev[i] = -1, -1
	q.length--
}
