package link

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// path is what carries probes in a test: up to a size, in a round trip; and counts them.
type path struct {
	prober
	now   model.Instant
	size  int
	sent  int
	falls []int // inner sizes that were in force, as they changed
}

const pathTrip = 40 * time.Millisecond

// passes lets time pass: the prober is asked when it wants to be, each acknowledgement comes a round trip later.
func (p *path) passes(d time.Duration) {
	type ack struct {
		at   model.Instant
		size int
	}
	var acks []ack
	note := func() {
		if n := len(p.falls); n == 0 || p.falls[n-1] != p.inner() {
			p.falls = append(p.falls, p.inner())
		}
	}
	for end := p.now.Add(d); ; {
		sizes, at := p.next(p.now)
		p.sent += len(sizes)
		for _, s := range sizes {
			if s <= p.size {
				acks = append(acks, ack{p.now.Add(pathTrip), s})
			}
		}
		note()
		if len(acks) > 0 && acks[0].at <= at {
			p.now = acks[0].at
			p.got(p.now, acks[0].size)
			acks = acks[1:]
			note()
			continue
		}
		if p.now = at; !at.Before(end) {
			p.now = end
			return
		}
	}
}

// The path MTU is there after one round trip, and follows the path: down within 13 s, when the next size is known at once; up within
// ten minutes. Each way it is never told larger than the path is for longer.
func TestProbe(t *testing.T) {
	t.Parallel()
	p := &path{size: 1500, now: 5}
	if p.inner() != 1280 {
		t.Errorf("before anything is known: %d, want 1280", p.inner())
	}
	p.begin(p.now, 1500)
	if p.inner() != 1280 || p.heard {
		t.Errorf("at the start: %d, heard %v, want 1280", p.inner(), p.heard)
	}
	step := func(what string, size int, within time.Duration, want int) {
		t.Helper()
		p.size, p.falls = size, nil
		p.passes(within)
		if p.inner() != want || !p.heard && size >= 1328 {
			t.Errorf("%s: %d after %v, heard %v, by way of %v; want %d", what, p.inner(), within, p.heard, p.falls, want)
		}
		if len(p.falls) > 2 && size < 1500 {
			t.Errorf("%s: by way of %v", what, p.falls)
		}
	}
	step("a path of 1500", 1500, pathTrip+1, 1452)
	p.sent = 0
	step("nothing new", 1500, time.Hour, 1452)
	if p.sent > 360 {
		t.Errorf("%d probes in an hour of peace, want one each 10 s", p.sent)
	}
	step("narrower", 1430, 13*time.Second+2*time.Millisecond, 1372)
	step("much narrower", 1400, 13*time.Second+2*time.Millisecond, 1352)
	step("wider again", 1492, probeRaise+time.Second, 1444)
	p.sent = 0
	step("nothing passes", 0, 13*time.Second+2*time.Millisecond, 1280)
	if p.heard {
		t.Error("nothing has passed, and it is not said")
	}
	step("nothing passes for long", 0, time.Hour, 1280)
	if p.sent > 3*360+6*3*7 {
		t.Errorf("%d probes in an hour, want three each 12 s, and of each size three each 10 minutes", p.sent)
	}
	step("it is there again", 1500, 13*time.Second+2*pathTrip+2*time.Millisecond, 1452)

	p.begin(p.now, 1500)
	if p.inner() != 1452 {
		t.Errorf("on another connection: %d, want what was in force", p.inner())
	}
	p.begin(p.now, 1400)
	if p.inner() != 1352 {
		t.Errorf("with a peer that takes 1352: %d", p.inner())
	}
	p.begin(p.now, 9000)
	p.tooBig(9000)
	step("our interface takes 1500", 1500, time.Second, 1452)
	p.begin(p.now, 9000)
	step("jumbo frames", 9000, pathTrip+1, 8952)
	p.got(p.now, 1337)
	p.begin(p.now, 1000)
	if step("a peer that takes too little", 1500, time.Minute, 1280); len(p.sizes) != 1 {
		t.Errorf("sizes %v", p.sizes)
	}
}
