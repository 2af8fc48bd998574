package demo

import "time"

// fate is what becomes of a packet at a function that drops by windows.
type fate int

const (
	either fate = iota // at the border of two windows
	passes
	dropped
)

// delivery is how long a packet takes at most from the sender to the function: ksoftirqd may have to wait for its CPU.
const delivery = 20 * time.Millisecond

// windows is what dos-denial must make of three phases of one flow, each as long as a
// window (Hanna, figure 6.7): a window begins with the first packet after the one
// before, and so a little later than a phase. The first passes and is below the
// threshold; the second passes, and is above; the third is dropped. When the
// function saw a packet is known between two times of the sender.
type windows struct {
	length time.Duration
	first  time.Duration // the first window did not begin before
	second time.Duration // nor the second after
}

// windowsOf reads them from what a flow sent. ok is false where the machine was too
// busy to send so that the second window alone is above the threshold, in packets.
func windowsOf(sent []burst, length time.Duration, most int) (w windows, ok bool) {
	w = windows{length: length, first: sent[0].before, second: -1}
	for _, b := range sent {
		if b.before >= sent[0].after+length {
			w.second = b.after + delivery
			break
		}
	}
	if w.second < 0 {
		return w, false
	}
	before, within := 0, 0
	for _, b := range sent {
		switch {
		case b.before < sent[0].after+length:
			before += b.count
		case b.before >= w.second && b.after < w.first+2*length:
			within += b.count
		}
	}
	return w, before <= most && within > most
}

func (w windows) fate(b burst) fate {
	switch {
	case b.after < w.first+2*w.length:
		return passes
	case b.before >= w.second+w.length && b.after < w.first+3*w.length:
		return dropped
	}
	return either
}
