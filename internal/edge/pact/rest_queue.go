package pact

// restQueue is a heap of container/heap: the first to be over first, of two the smaller address.
type restQueue []*rest

func (q restQueue) Len() int { return len(q) }

// Less orders by the end of the rest.
func (q restQueue) Less(i, j int) bool {
	if a, b := q[i].pact, q[j].pact; a.Rests != b.Rests {
		return a.Rests.Before(b.Rests)
	}
	return q[i].pact.Proxy.Less(q[j].pact.Proxy)
}

// Swap exchanges two.
func (q restQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push appends one.
func (q *restQueue) Push(x any) {
	r := x.(*rest)
	r.place = len(*q)
	*q = append(*q, r)
}

// Pop takes the last off.
func (q *restQueue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}
