package nf

import (
	"slices"
	"unsafe"
)

const (
	perCell    = len(classifierRulesRangeCell{}.First)
	mostTurns  = 4*len(classifierRulesTurnCell{}.Bounds) + 1
	turnBits   = int(classifierRulesLimitRULES_TURNS)
	mostBits   = int(classifierRulesLimitRULES_BITS)
	perMore    = len(classifierRulesMoreCell{}.Last) + 1
	mostRanges = 8 << 20    // less than RULES_STEPS of cells above each other lead to
	mark       = 1 << 31    // RULES_MARK
	more       = ^uint32(0) // RULES_MORE
)

// cells are what programs look up before the rules (bpf/include/rules.h).
type cells []classifierRulesCell

// cellOf is v in the form of a cell; it has the size of one.
func cellOf[T any](v T) classifierRulesCell {
	return *(*classifierRulesCell)(unsafe.Pointer(&v))
}

// headOf is a cell that was made of a head.
func headOf(c classifierRulesCell) classifierRulesHead {
	return *(*classifierRulesHead)(unsafe.Pointer(&c))
}

// addDimension puts the ranges and classes of a dimension behind what there is.
func (list *cells) addDimension(d *dimension, what string) (of classifierRulesDimension, err error) {
	made, err := d.cut(what)
	if err != nil {
		return of, err
	}
	of = list.addRanges(made.ranges)
	list.addClasses(d, made.classes, &of)
	return of, nil
}

// addRanges puts the ranges of a dimension behind what there is.
func (list *cells) addRanges(ranges []span) (d classifierRulesDimension) {
	bits := bitsFor(ranges)
	d.Shift, d.Ranges = uint8(32-bits), uint32(len(*list))
	*list = append(*list, make(cells, 1<<bits)...)
	prefix := d.Ranges
	eachPrefix(ranges, bits, func(first uint32, within []span) {
		(*list)[prefix] = list.cellFor(within, first, bits)
		prefix++
	})
	return d
}

// bitsFor is by how many bits ranges are looked up: as few as leave nearly all of them
// in the cell of their prefix, and the least where they lie too close for that.
func bitsFor(ranges []span) int {
	least := 0
	for least < 32-turnBits && len(ranges) > perCell<<least {
		least++
	}
	for bits := least; bits <= mostBits && 1<<bits < 2*len(ranges); bits++ {
		beyond := 0
		eachPrefix(ranges, bits, func(_ uint32, within []span) {
			if len(within) > perCell && turns(within, bits) < len(within) {
				beyond += len(within)
			}
		})
		if beyond <= len(ranges)/16 {
			return bits
		}
	}
	return least
}

// eachPrefix gives the ranges of each prefix of so many bits, which begins with first.
func eachPrefix(ranges []span, bits int, give func(first uint32, within []span)) {
	place := 0 // the range that a value lies in
	for prefix := range uint64(1) << bits {
		first, next := prefix<<(32-bits), (prefix+1)<<(32-bits)
		for place+1 < len(ranges) && uint64(ranges[place+1].first) <= first {
			place++
		}
		from := place
		for place+1 < len(ranges) && uint64(ranges[place+1].first) < next {
			place++
		}
		give(uint32(first), ranges[from:place+1])
	}
}

// cellFor is the cell of a prefix with these ranges; where there are too many, it puts
// them behind what there is.
func (list *cells) cellFor(ranges []span, first uint32, bits int) classifierRulesCell {
	switch {
	case len(ranges) <= perCell:
		return rangeCell(ranges)
	case turns(ranges, bits) == len(ranges):
		return turnCell(ranges, first)
	}
	var below []child
	for len(ranges) > 0 {
		some := ranges[:min(perCell, len(ranges))]
		made := rangeCell(some)
		if n := turns(ranges, bits); n > len(some) {
			some = ranges[:n]
			made = turnCell(some, first)
		}
		below = append(below, list.addChild(some[0].first, made))
		ranges = ranges[len(some):]
	}
	for len(below) > perMore {
		var above []child
		for some := range slices.Chunk(below, perMore) {
			above = append(above, list.addChild(some[0].first, moreCell(some)))
		}
		below = above
	}
	return moreCell(below)
}

// child is a cell below another, and where its ranges begin.
type child struct{ first, cell uint32 }

func (list *cells) addChild(first uint32, c classifierRulesCell) child {
	*list = append(*list, c)
	return child{first, uint32(len(*list) - 1)}
}

// moreCell is above others that lie one behind the other.
func moreCell(below []child) classifierRulesCell {
	c := classifierRulesMoreCell{Cells: below[0].cell, More: more}
	for i := range c.Last {
		c.Last[i] = none
		if i+1 < len(below) {
			c.Last[i] = below[i+1].first - 1
		}
	}
	return cellOf(c)
}

// turns is how many of the first ranges fit in a cell of turns.
func turns(ranges []span, bits int) int {
	if bits < 32-turnBits {
		return 0
	}
	for i, r := range ranges {
		if i == mostTurns || r.class != ranges[i%2].class {
			return i
		}
	}
	return len(ranges)
}

func turnCell(ranges []span, first uint32) classifierRulesCell {
	c := classifierRulesTurnCell{Class: [2]uint32{ranges[0].class, ranges[1].class | mark}}
	for i := range mostTurns - 1 {
		bound := uint64(1) << turnBits
		if i+1 < len(ranges) {
			bound = uint64(ranges[i+1].first - first)
		}
		c.Bounds[i/4] |= bound << (i % 4 * 16)
	}
	return cellOf(c)
}

func rangeCell(ranges []span) classifierRulesCell {
	var c classifierRulesRangeCell
	for i := range perCell {
		// The last again beyond them: it changes nothing.
		r := ranges[min(i, len(ranges)-1)]
		c.First[i], c.Class[i] = r.first, r.class
	}
	return cellOf(c)
}

// addClasses puts the classes of a dimension behind what there is.
func (list *cells) addClasses(d *dimension, classes []conditions, to *classifierRulesDimension) {
	most := uint8(0)
	for _, layer := range d.layer {
		most = max(most, layer)
	}
	to.ClassShift = 4 // two layers
	for size := 8 + 4*int(most); 1<<to.ClassShift < size; {
		to.ClassShift++
	}
	to.Classes = uint32(len(*list))
	words := 1 << (to.ClassShift - 3)
	var c classifierRulesCell
	for i, now := range classes {
		at := i * words % len(c.Word)
		c.Word[at] = d.shapesOf(now)
		for layer, number := range now[:most] {
			c.Word[at+1+layer/2] |= uint64(number) << (layer % 2 * 32)
		}
		if at+words == len(c.Word) || i == len(classes)-1 {
			*list = append(*list, c)
			c = classifierRulesCell{}
		}
	}
}
