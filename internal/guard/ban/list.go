package ban

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gaissmai/bart"
)

// Most is how many bans there can be at a time.
const Most = 1 << 20

// Manual is the reason of bans by hand.
const Manual = "manual"

// Ban is a remote address or prefix whose packets are dropped.
type Ban struct {
	Prefix  netip.Prefix // masked
	Since   time.Time
	Until   time.Time // zero: for ever
	Reason  string    // for people; empty: from before reasons were kept
	Offence int       // how often its offender has offended; 0: it is no single offender's
}

// Over reports whether the ban has ended.
func (b Ban) Over(now time.Time) bool { return !b.Until.IsZero() && !b.Until.After(now) }

// byHand reports whether somebody ordered the ban. Before reasons were kept, all were of
// that kind.
func (b Ban) byHand() bool { return b.Offence == 0 && (b.Reason == Manual || b.Reason == "") }

// List is all bans. The zero value has none.
type List struct {
	bans      bart.Table[Ban]
	automatic int // how many of them are of offenders
	byHand    int
}

// Plan returns the bans of prefixes until then, for Put; it changes nothing. never says
// why a prefix must not be banned.
func (l *List) Plan(now, until time.Time, reason string, prefixes []netip.Prefix, never func(netip.Prefix) error) ([]Ban, error) {
	made := make([]Ban, 0, len(prefixes))
	seen := map[netip.Prefix]bool{}
	for _, p := range prefixes {
		if !p.IsValid() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%s is not an IPv4 or IPv6 address or prefix", p)
		}
		p = p.Masked()
		if err := never(p); err != nil {
			return nil, fmt.Errorf("%s cannot be banned: %w", p, err)
		}
		if seen[p] {
			continue
		}
		seen[p] = true
		made = append(made, Ban{Prefix: p, Since: now, Until: until, Reason: reason})
	}
	return made, nil
}

// Put brings bans into force. Each replaces an earlier one of its prefix.
func (l *List) Put(bans []Ban) {
	for _, b := range bans {
		l.delete(b.Prefix)
		l.bans.Insert(b.Prefix, b)
		if b.Offence > 0 {
			l.automatic++
		}
		if b.byHand() {
			l.byHand++
		}
	}
}

func (l *List) delete(p netip.Prefix) {
	b, known := l.bans.Get(p)
	if !known {
		return
	}
	l.bans.Delete(p)
	if b.Offence > 0 {
		l.automatic--
	}
	if b.byHand() {
		l.byHand--
	}
}

// Get returns the ban of just that prefix.
func (l *List) Get(p netip.Prefix) (b Ban, known bool) {
	return l.bans.Get(p)
}

// Has reports whether there is a ban of just that prefix.
func (l *List) Has(p netip.Prefix) bool {
	_, known := l.bans.Get(p)
	return known
}

// Outlasts reports whether there is a ban of the same prefix that ends no earlier.
func (l *List) Outlasts(b Ban) bool {
	before, known := l.bans.Get(b.Prefix)
	return known && (before.Until.IsZero() || !b.Until.IsZero() && !before.Until.Before(b.Until))
}

// later reports that an end of a ban, the zero value for none, is after another.
func later(until, than time.Time) bool {
	return !than.IsZero() && (until.IsZero() || until.After(than))
}

// Exceeds reports whether there is a ban of the same prefix that ends later.
func (l *List) Exceeds(b Ban) bool {
	before, known := l.bans.Get(b.Prefix)
	return known && later(before.Until, b.Until)
}

// Longer returns the bans that hold for longer than until then, each once and at most so many, of those that prefixes have a part in.
func (l *List) Longer(prefixes []netip.Prefix, until time.Time, most int) (list []Ban) {
	for _, p := range prefixes {
		b, banned := l.Covering(p.Masked())
		if banned && len(list) < most && later(b.Until, until) && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list
}

// Load takes over bans that were kept; those that are over are left out.
func (l *List) Load(now time.Time, kept []Ban) {
	for _, b := range kept {
		if !b.Over(now) {
			l.Put([]Ban{b})
		}
	}
}

// Remove ends bans, and returns those of the prefixes that were banned.
func (l *List) Remove(prefixes []netip.Prefix) (removed []netip.Prefix) {
	for _, p := range prefixes {
		if p = p.Masked(); l.Has(p) {
			l.delete(p)
			removed = append(removed, p)
		}
	}
	return removed
}

// Expire removes the bans that are over, and returns them.
func (l *List) Expire(now time.Time) (over []netip.Prefix) {
	for p, b := range l.bans.All() {
		if b.Over(now) {
			over = append(over, p)
		}
	}
	return l.Remove(over)
}

// All returns every ban, in no order.
func (l *List) All() []Ban {
	list := make([]Ban, 0, l.bans.Size())
	for _, b := range l.bans.All() {
		list = append(list, b)
	}
	return list
}

// Effective returns until when packets of a prefix are dropped by its own ban and by
// those of wider prefixes: a table that knows only the narrowest must be told that.
func (l *List) Effective(p netip.Prefix) (until time.Time, banned bool) {
	for _, b := range l.bans.Supernets(p) {
		if b.Until.IsZero() {
			return b.Until, true
		}
		if !banned || b.Until.After(until) {
			until = b.Until
		}
		banned = true
	}
	return until, banned
}

// Of returns the ban of an address that lasts longest.
func (l *List) Of(a netip.Addr) (longest Ban, banned bool) {
	return l.Covering(netip.PrefixFrom(a, a.BitLen()))
}

// Covering returns the ban of a prefix, or of a wider one, that lasts longest.
func (l *List) Covering(p netip.Prefix) (longest Ban, banned bool) {
	for _, b := range l.bans.Supernets(p) {
		if !banned || !longest.Until.IsZero() && (b.Until.IsZero() || b.Until.After(longest.Until)) {
			longest, banned = b, true
		}
	}
	return longest, banned
}

// Wider returns the bans that prefixes still have a part in, each once and at most so many.
func (l *List) Wider(prefixes []netip.Prefix, most int) (list []netip.Prefix) {
	for _, p := range prefixes {
		b, banned := l.Covering(p)
		if banned && len(list) < most && !slices.Contains(list, b.Prefix) {
			list = append(list, b.Prefix)
		}
	}
	return list
}

// Under returns the bans of prefixes and of all narrower ones, each once.
func (l *List) Under(prefixes []netip.Prefix) (list []netip.Prefix) {
	found := map[netip.Prefix]bool{}
	for _, p := range prefixes {
		for q := range l.bans.Subnets(p) {
			if !found[q] {
				found[q] = true
				list = append(list, q)
			}
		}
	}
	return list
}
