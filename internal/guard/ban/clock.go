package ban

import (
	"iter"
	"maps"
	"net/netip"
	"time"
)

// leastStep is from which on a difference of two clocks is a clock that was set, and not
// one that runs a little faster.
const leastStep = time.Minute

// Clock notices when the clock of the day is set. The zero value has not begun.
type Clock struct {
	begun   time.Time // the first look, as the clock of the day has it now
	seen    time.Time // the last look
	running time.Duration
}

// Look takes the clock of the day, and for how long the machine is up by then, its sleep
// included. It returns by how much the clock was set since the last look, 0 where it was
// not, and from when on times were of the clock before it was.
func (c *Clock) Look(now time.Time, running time.Duration) (from time.Time, by time.Duration) {
	if c.seen.IsZero() {
		c.begun, c.seen, c.running = now, now, running
	}
	by = now.Sub(c.seen) - (running - c.running)
	c.seen, c.running = now, running
	if by.Abs() < leastStep {
		return c.begun, 0
	}
	from = c.begun
	c.begun = from.Add(by)
	return from, by
}

// moved is a span of time that began by a clock which was set since, from then on; one
// from before is as it was.
func moved(from time.Time, by time.Duration, since, until time.Time) (time.Time, time.Time) {
	if since.Before(from) {
		return since, until
	}
	if !until.IsZero() {
		until = until.Add(by)
	}
	return since.Add(by), until
}

// begunBy is a span of time that has begun by now: one that begins later was written with a
// clock that was ahead, and keeps its length.
func begunBy(now, since, until time.Time) (time.Time, time.Time) {
	if since.After(now) {
		return moved(since, now.Sub(since), since, until)
	}
	return since, until
}

// Mend corrects what was kept while the clock was wrong, and returns the bans that it
// changed: none begins after now, and none that was not made by hand lasts for longer than
// most from now on.
func (l *List) Mend(now time.Time, most time.Duration) (changed []netip.Prefix) {
	return change(l.bans.All(), l.bans.Insert, func(b Ban) Ban {
		b.Since, b.Until = begunBy(now, b.Since, b.Until)
		if end := now.Add(most); !b.byHand() && b.Until.After(end) {
			b.Until = end
		}
		return b
	})
}

// Shift moves the bans that began from then on, by a clock that was set by so much since,
// and returns them.
func (l *List) Shift(from time.Time, by time.Duration) (changed []netip.Prefix) {
	return change(l.bans.All(), l.bans.Insert, func(b Ban) Ban {
		b.Since, b.Until = moved(from, by, b.Since, b.Until)
		return b
	})
}

// Mend is that of a List.
func (o *Offences) Mend(now time.Time, most time.Duration) (changed []netip.Prefix) {
	return change(maps.All(o.records), func(p netip.Prefix, r Record) { o.records[p] = r }, func(r Record) Record {
		r.Since, r.Until = begunBy(now, r.Since, r.Until)
		if end := now.Add(most); r.Until.After(end) {
			r.Until = end
		}
		return r
	})
}

// Shift is that of a List.
func (o *Offences) Shift(from time.Time, by time.Duration) (changed []netip.Prefix) {
	return change(maps.All(o.records), func(p netip.Prefix, r Record) { o.records[p] = r }, func(r Record) Record {
		r.Since, r.Until = moved(from, by, r.Since, r.Until)
		return r
	})
}

// change puts what next makes of each entry in its place, and returns those that are
// others now.
func change[T comparable](entries iter.Seq2[netip.Prefix, T], put func(netip.Prefix, T), next func(T) T) (changed []netip.Prefix) {
	others := map[netip.Prefix]T{}
	for p, entry := range entries {
		if n := next(entry); n != entry {
			others[p] = n
			changed = append(changed, p)
		}
	}
	for p, entry := range others {
		put(p, entry)
	}
	return changed
}
