package web

import "time"

// histogram counts how long connections took from their first data to their session.
type histogram [6]uint64

// bounds are of its classes; the last one has none.
var bounds = [...]time.Duration{250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 30 * time.Millisecond}

func (h *histogram) add(d time.Duration) {
	class := 0
	for class < len(bounds) && d > bounds[class] {
		class++
	}
	h[class]++
}
