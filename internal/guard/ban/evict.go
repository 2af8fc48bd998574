package ban

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// MostAutomatic is how many bans of offenders there can be at a time. The rest of Most is
// for bans by hand: who owns a large prefix of IPv6 can offend from each /64 of it.
const MostAutomatic = Most - 1<<16

// Evict returns the bans of offenders that give way to others that are about to be made:
// those that end soonest, a sixteenth of them at once, so that it is rare. None do while
// there is room. instead are bans that end anyway. With an error there is no room even so.
func (l *List) Evict(made []Ban, instead []netip.Prefix) (gone []netip.Prefix, err error) {
	all, automatic := l.bans.Size(), l.automatic
	stays := make(map[netip.Prefix]bool, len(made)+len(instead))
	count := func(b Ban, n int) {
		all += n
		if b.Offence > 0 {
			automatic += n
		}
	}
	leave := func(p netip.Prefix) {
		if b, known := l.bans.Get(p); known && !stays[p] {
			count(b, -1)
		}
		stays[p] = true
	}
	for _, p := range instead {
		leave(p)
	}
	for _, b := range made {
		leave(b.Prefix)
		count(b, 1)
	}
	needed := max(all-Most, automatic-MostAutomatic)
	if needed <= 0 {
		return nil, nil
	}
	if gone = l.soonest(max(needed, MostAutomatic/16), stays); len(gone) < needed {
		return nil, fmt.Errorf("%d bans: at most %d: end some by realmgate ban remove", all, Most)
	}
	return gone, nil
}

// soonest are the bans of offenders that end first, but for some, at most so many.
func (l *List) soonest(most int, but map[netip.Prefix]bool) []netip.Prefix {
	type one struct {
		prefix netip.Prefix
		until  time.Time
	}
	list := make([]one, 0, l.automatic)
	for p, b := range l.bans.All() {
		if b.Offence > 0 && !but[p] {
			list = append(list, one{p, b.Until})
		}
	}
	slices.SortFunc(list, func(a, b one) int { return cmp.Or(a.until.Compare(b.until), a.prefix.Compare(b.prefix)) })
	gone := make([]netip.Prefix, min(most, len(list)))
	for i := range gone {
		gone[i] = list[i].prefix
	}
	return gone
}
