package nf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// level are conditions of one dimension of which no two hold at once.
type level struct {
	sets []*model.AddressSet
	ends [16]int64 // of the conditions that are no sets, up to there in each lane
}

// spread puts conditions that can hold at once into different levels: sets first, and
// then the others, in as few as can be where there are no sets and one lane.
func (d *dimension) spread(what string) error {
	d.level, d.masks = make([]uint8, len(d.list)), make([]uint64, len(d.list))
	var all [levels]level
	for l := range all {
		for lane := range all[l].ends {
			all[l].ends[lane] = -1
		}
	}
	order := make([]int, len(d.list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := d.list[a], d.list[b]
		return cmp.Or(before(x.set != nil, y.set != nil), cmp.Compare(x.first, y.first))
	})
	for _, i := range order {
		c := d.list[i]
		l := slices.IndexFunc(all[:], func(l level) bool { return l.takes(c) })
		if l < 0 {
			return fmt.Errorf("more than %d different conditions of the %s overlap", levels, what)
		}
		all[l].put(c)
		d.level[i] = uint8(l + 1)
	}
	return nil
}

func before(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// takes reports whether nothing in the level holds at once with c. Conditions come in
// the order of their first numbers, after all sets.
func (l *level) takes(c condition) bool {
	for lane, end := range l.ends {
		if c.lanes>>lane&1 == 1 && end >= int64(c.first) && c.set == nil {
			return false
		}
	}
	return !slices.ContainsFunc(l.sets, func(have *model.AddressSet) bool {
		few, many := c.runs(), have
		if c.set != nil && len(few) > len(many.Ranges()) {
			few, many = have.Ranges(), c.set
		}
		return slices.ContainsFunc(few, many.Meets)
	})
}

func (l *level) put(c condition) {
	if c.set != nil {
		l.sets = append(l.sets, c.set)
		return
	}
	for lane := range l.ends {
		if c.lanes>>lane&1 == 1 {
			l.ends[lane] = int64(c.last)
		}
	}
}
