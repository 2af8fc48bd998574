package nf

import (
	"fmt"
	"math"
	"slices"
)

// conditions are those that hold at once, by their levels; 0 is for none.
type conditions [levels]uint32

// span is a range of a dimension: from first up to the next one.
type span struct{ first, class uint32 }

// cuts are a dimension's ranges, each of another class than the one before, and what
// holds in each class.
type cuts struct {
	ranges  []span
	classes []conditions
}

// bound is where a condition begins or ends: the place << 22 | the condition's number,
// 0 where it ends, << 4 | its level from 0. So bounds have the right order as numbers.
type bound = uint64

// cut cuts the dimension at the bounds of its conditions.
func (d *dimension) cut(what string) (*cuts, error) {
	var bounds []bound
	for i, c := range d.list {
		for lane, base := range d.lanes {
			if c.lanes>>lane&1 == 0 {
				continue
			}
			for _, r := range c.runs() {
				level := uint64(d.level[i] - 1)
				bounds = append(bounds, (uint64(base)+uint64(r.First))<<22|uint64(i+1)<<4|level,
					(uint64(base)+uint64(r.Last)+1)<<22|level)
			}
		}
	}
	if len(bounds) > mostRanges {
		return nil, fmt.Errorf("the conditions of the %s make more than %d ranges", what, mostRanges/2)
	}
	slices.Sort(bounds)
	made := &cuts{ranges: make([]span, 0, len(bounds)+1)}
	numbers := map[conditions]uint32{}
	var now conditions
	made.add(numbers, 0, now)
	for i, b := range bounds {
		now[b&(1<<4-1)] = uint32(b >> 4 & (1<<18 - 1))
		at := b >> 22
		if i+1 < len(bounds) && bounds[i+1]>>22 == at || at > math.MaxUint32 {
			continue
		}
		made.add(numbers, uint32(at), now)
	}
	return made, nil
}

// add begins a range.
func (c *cuts) add(numbers map[conditions]uint32, first uint32, now conditions) {
	class, known := numbers[now]
	if !known {
		class = uint32(len(c.classes))
		numbers[now] = class
		c.classes = append(c.classes, now)
	}
	last := len(c.ranges) - 1
	switch {
	case last >= 0 && c.ranges[last].class == class:
	case last == 0 && first == 0: // nothing lies before it
		c.ranges[0].class = class
	default:
		c.ranges = append(c.ranges, span{first, class})
	}
}

// masksOf are the masks of the rules that can match where these conditions hold.
func (d *dimension) masksOf(now conditions) uint64 {
	masks := d.always
	for _, number := range now {
		if number > 0 {
			masks |= d.masks[number-1]
		}
	}
	return masks
}
