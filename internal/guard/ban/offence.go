package ban

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/gaissmai/bart"
)

// MostOffenders is of how many offenders the offences are known at a time. Beyond that
// the sixteenth with the fewest offences, and of these the oldest, is forgotten.
const MostOffenders = 1 << 18

// Record is what an offender did.
type Record struct {
	Count int       // of offences that were not forgotten by then; 1 or more
	Until time.Time // when the ban of the last one ends, from which on they are forgotten
	Since time.Time // when the last one was told; zero: from before that was kept
}

// left is how many offences are not forgotten. Who is banned cannot offend, so that the
// time of a ban does not count.
func (r Record) left(now time.Time, memory time.Duration) int {
	return r.Count - int(min(int64(r.Count), int64(max(0, now.Sub(r.Until))/memory)))
}

// Offences are those of all offenders. The zero value has none.
type Offences struct{ records map[netip.Prefix]Record }

// Next returns the record of an offender after an offence now, for Put; it changes
// nothing. While the ban of the offence before goes on it is the same offence still: two
// logs may tell of one attack. lasts is how long the ban of an nth offence lasts.
func (o *Offences) Next(now time.Time, offender netip.Prefix, memory time.Duration, lasts func(n int) time.Duration) Record {
	last, known := o.records[offender]
	n := 1
	switch {
	case known && now.Before(last.Until):
		n = last.Count
	case known:
		n = last.left(now, memory) + 1
	}
	until := now.Add(lasts(n))
	if n == last.Count && last.Until.After(until) {
		until = last.Until
	}
	return Record{Count: n, Until: until, Since: now}
}

// Put keeps records, each in place of its offender's before, and returns the offenders
// that had to be forgotten.
func (o *Offences) Put(now time.Time, memory time.Duration, records map[netip.Prefix]Record) (forgotten []netip.Prefix) {
	if o.records == nil {
		o.records = map[netip.Prefix]Record{}
	}
	for p, r := range records {
		o.records[p] = r
	}
	if len(o.records) <= MostOffenders {
		return nil
	}
	type one struct {
		offender netip.Prefix
		left     int
		until    time.Time
	}
	list := make([]one, 0, len(o.records))
	for p, r := range o.records {
		list = append(list, one{p, r.left(now, memory), r.Until})
	}
	slices.SortFunc(list, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.left, b.left), a.until.Compare(b.until), a.offender.Compare(b.offender))
	})
	for i, r := range list {
		if r.left > 0 && i >= len(list)-MostOffenders+MostOffenders/16 {
			break
		}
		delete(o.records, r.offender)
		forgotten = append(forgotten, r.offender)
	}
	return forgotten
}

// Get returns the record of an offender.
func (o *Offences) Get(offender netip.Prefix) (r Record, known bool) {
	r, known = o.records[offender]
	return r, known
}

// Within are the offenders in prefixes.
func (o *Offences) Within(prefixes []netip.Prefix) (list []netip.Prefix) {
	var within bart.Lite
	for _, p := range prefixes {
		within.Insert(p)
	}
	for p := range o.records {
		if within.LookupPrefix(p) {
			list = append(list, p)
		}
	}
	return list
}

// Forgive forgets offenders.
func (o *Offences) Forgive(offenders []netip.Prefix) {
	for _, p := range offenders {
		delete(o.records, p)
	}
}

// Load takes over records that were kept, and returns the offenders that are not to be
// kept any longer.
func (o *Offences) Load(now time.Time, memory time.Duration, kept map[netip.Prefix]Record) (over []netip.Prefix) {
	for p, r := range kept {
		if r.left(now, memory) <= 0 {
			over = append(over, p)
			delete(kept, p)
		}
	}
	return append(over, o.Put(now, memory, kept)...)
}
