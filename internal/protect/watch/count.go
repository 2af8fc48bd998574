package watch

import (
	"net/netip"
	"slices"
	"time"
)

const (
	mostAddresses = 1 << 14 // counted at a time
	mostTimes     = 1 << 20 // of hits that are remembered, of all addresses
)

// Offence is an address that had the hits of an offence within its time.
type Offence struct {
	Watch       string
	Address     netip.Addr // IPv4, or IPv6 that stands for no IPv4 address; without a zone
	Count       int        // hits
	First, Last time.Time  // of them
}

// counter counts hits in a window that slides. It has no clock.
type counter struct {
	hits   int
	within time.Duration
	most   int // addresses
	total  int // hits of all addresses that are remembered

	base           time.Time // of all times below
	now            time.Duration
	addresses      map[netip.Addr]*address
	newest, oldest *address // by their last hit
	times          int
	forgotten      uint64 // addresses whose hits could still have counted
}

// address is one of a list in the order of last hits.
type address struct {
	netip.Addr
	times        []time.Duration // of hits, rising; fewer than an offence has
	newer, older *address
}

func newCounter(hits int, within time.Duration, most int) *counter {
	return &counter{hits: hits, within: within, most: most, total: mostTimes, addresses: map[netip.Addr]*address{}}
}

// hit counts one. With the last that an offence needs it returns that, and the address
// begins anew.
func (c *counter) hit(now time.Time, of netip.Addr) (offence Offence, offends bool) {
	if c.base.IsZero() {
		c.base = now
	}
	c.now = max(c.now, now.Sub(c.base)) // a clock that is set back stands still
	c.expire()
	a := c.addresses[of]
	if a == nil {
		a = &address{Addr: of}
		c.addresses[of] = a
	} else {
		c.unlink(a)
	}
	c.link(a)
	old := 0
	for old < len(a.times) && c.now-a.times[old] > c.within {
		old++
	}
	a.times = append(slices.Delete(a.times, 0, old), c.now)
	c.times += 1 - old
	if len(a.times) >= c.hits {
		c.remove(a)
		return Offence{Address: of, Count: len(a.times), First: c.base.Add(a.times[0]), Last: c.base.Add(c.now)}, true
	}
	for len(c.addresses) > c.most || c.times > c.total {
		c.remove(c.oldest)
		c.forgotten++
	}
	return Offence{}, false
}

// expire removes the addresses whose hits no longer count.
func (c *counter) expire() {
	for c.oldest != nil && c.now-c.oldest.times[len(c.oldest.times)-1] > c.within {
		c.remove(c.oldest)
	}
}

func (c *counter) remove(a *address) {
	c.unlink(a)
	delete(c.addresses, a.Addr)
	c.times -= len(a.times)
}

// link makes an address the newest.
func (c *counter) link(a *address) {
	a.older, a.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = a
	} else {
		c.oldest = a
	}
	c.newest = a
}

func (c *counter) unlink(a *address) {
	if a.newer != nil {
		a.newer.older = a.older
	} else {
		c.newest = a.older
	}
	if a.older != nil {
		a.older.newer = a.newer
	} else {
		c.oldest = a.newer
	}
}
