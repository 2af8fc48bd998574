package jail

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	mostOffenders = 1 << 14 // counted at a time
	mostTimes     = 1 << 20 // of failures that are remembered, of all offenders
)

// Offence is who had the failures of an offence within its time.
type Offence struct {
	Jail string
	// Address is that of the last failure: IPv4, or IPv6 that stands for no IPv4 address; without
	// a zone. Of IPv6 the failures are those of all addresses of its /64.
	Address     netip.Addr
	Count       int       // failures
	First, Last time.Time // of them
}

// counter counts failures in a window that slides. It has no clock.
type counter struct {
	failures int
	within   time.Duration
	most     int // offenders
	total    int // failures of all offenders that are remembered

	base           time.Time // of all times below
	now            time.Duration
	offenders      map[netip.Prefix]*offender
	newest, oldest *offender // by their last failure
	times          int
	forgotten      uint64 // offenders whose failures could still have counted
}

// offender is one of a list in the order of last failures.
type offender struct {
	unit         netip.Prefix
	times        []time.Duration // of failures, rising; fewer than an offence has
	newer, older *offender
}

func newCounter(failures int, within time.Duration, most int) *counter {
	return &counter{failures: failures, within: within, most: most, total: mostTimes, offenders: map[netip.Prefix]*offender{}}
}

// failure counts one. With the last that an offence needs it returns that, and the offender
// begins anew.
func (c *counter) failure(now time.Time, of netip.Addr) (offence Offence, offends bool) {
	if c.base.IsZero() {
		c.base = now
	}
	c.now = max(c.now, now.Sub(c.base)) // a clock that is set back stands still
	c.expire()
	unit := model.OffenderOf(of)
	o := c.offenders[unit]
	if o == nil {
		o = &offender{unit: unit}
		c.offenders[unit] = o
	} else {
		c.unlink(o)
	}
	c.link(o)
	old := 0
	for old < len(o.times) && c.now-o.times[old] > c.within {
		old++
	}
	o.times = append(slices.Delete(o.times, 0, old), c.now)
	c.times += 1 - old
	if len(o.times) >= c.failures {
		c.remove(o)
		return Offence{Address: of, Count: len(o.times), First: c.base.Add(o.times[0]), Last: c.base.Add(c.now)}, true
	}
	for len(c.offenders) > c.most || c.times > c.total {
		c.remove(c.oldest)
		c.forgotten++
	}
	return Offence{}, false
}

// expire removes the offenders whose failures no longer count.
func (c *counter) expire() {
	for c.oldest != nil && c.now-c.oldest.times[len(c.oldest.times)-1] > c.within {
		c.remove(c.oldest)
	}
}

func (c *counter) remove(o *offender) {
	c.unlink(o)
	delete(c.offenders, o.unit)
	c.times -= len(o.times)
}

// link makes an offender the newest.
func (c *counter) link(o *offender) {
	o.older, o.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = o
	} else {
		c.oldest = o
	}
	c.newest = o
}

func (c *counter) unlink(o *offender) {
	if o.newer != nil {
		o.newer.older = o.older
	} else {
		c.newest = o.older
	}
	if o.older != nil {
		o.older.newer = o.newer
	} else {
		c.oldest = o.newer
	}
}
