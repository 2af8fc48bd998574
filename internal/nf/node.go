package nf

import (
	"slices"
	"unsafe"
)

const (
	perNode         = len(classifierRulesRangeNode{}.First)
	mostAlternating = 4*len(classifierRulesAlternatingNode{}.Bounds) + 1
	alternatingBits = int(classifierRulesLimitRULES_ALTERNATING_BITS)
	mostBits        = int(classifierRulesLimitRULES_BITS)
	perInner        = len(classifierRulesInnerNode{}.Last) + 1
	mostRanges      = 8 << 20    // less than RULES_STEPS of nodes above each other lead to
	mark            = 1 << 31    // RULES_MARK
	inner           = ^uint32(0) // RULES_INNER
)

// nodes are what programs look up before the rules (bpf/include/rules.h).
type nodes []classifierRulesNode

// nodeOf is v in the form of a node; it has the size of one.
func nodeOf[T any](v T) classifierRulesNode {
	return *(*classifierRulesNode)(unsafe.Pointer(&v))
}

// headOf is a node that was made of a head.
func headOf(c classifierRulesNode) classifierRulesHead {
	return *(*classifierRulesHead)(unsafe.Pointer(&c))
}

// addDimension puts the ranges and classes of a dimension behind what there is.
func (list *nodes) addDimension(d *dimension, what string) (of classifierRulesDimension, err error) {
	made, err := d.cut(what)
	if err != nil {
		return of, err
	}
	of = list.addRanges(made.ranges)
	list.addClasses(d, made.classes, &of)
	return of, nil
}

// addRanges puts the ranges of a dimension behind what there is.
func (list *nodes) addRanges(ranges []span) (d classifierRulesDimension) {
	bits := bitsFor(ranges)
	d.Shift, d.Ranges = uint8(32-bits), uint32(len(*list))
	*list = append(*list, make(nodes, 1<<bits)...)
	prefix := d.Ranges
	eachPrefix(ranges, bits, func(first uint32, within []span) {
		(*list)[prefix] = list.nodeFor(within, first, bits)
		prefix++
	})
	return d
}

// bitsFor is by how many bits ranges are looked up: as few as leave nearly all of them
// in the node of their prefix, and the least where they lie too close for that.
func bitsFor(ranges []span) int {
	least := 0
	for least < 32-alternatingBits && len(ranges) > perNode<<least {
		least++
	}
	for bits := least; bits <= mostBits && 1<<bits < 2*len(ranges); bits++ {
		beyond := 0
		eachPrefix(ranges, bits, func(_ uint32, within []span) {
			if len(within) > perNode && alternating(within, bits) < len(within) {
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

// nodeFor is the node of a prefix with these ranges; where there are too many, it puts
// them behind what there is.
func (list *nodes) nodeFor(ranges []span, first uint32, bits int) classifierRulesNode {
	switch {
	case len(ranges) <= perNode:
		return rangeNode(ranges)
	case alternating(ranges, bits) == len(ranges):
		return alternatingNode(ranges, first)
	}
	var below []child
	for len(ranges) > 0 {
		some := ranges[:min(perNode, len(ranges))]
		made := rangeNode(some)
		if n := alternating(ranges, bits); n > len(some) {
			some = ranges[:n]
			made = alternatingNode(some, first)
		}
		below = append(below, list.addChild(some[0].first, made))
		ranges = ranges[len(some):]
	}
	for len(below) > perInner {
		var above []child
		for some := range slices.Chunk(below, perInner) {
			above = append(above, list.addChild(some[0].first, innerNode(some)))
		}
		below = above
	}
	return innerNode(below)
}

// child is a node below another, and where its ranges begin.
type child struct{ first, node uint32 }

func (list *nodes) addChild(first uint32, c classifierRulesNode) child {
	*list = append(*list, c)
	return child{first, uint32(len(*list) - 1)}
}

// innerNode is above others that lie one behind the other.
func innerNode(below []child) classifierRulesNode {
	c := classifierRulesInnerNode{Nodes: below[0].node, Inner: inner}
	for i := range c.Last {
		c.Last[i] = none
		if i+1 < len(below) {
			c.Last[i] = below[i+1].first - 1
		}
	}
	return nodeOf(c)
}

// alternating is how many of the first ranges fit in a node of alternating ranges.
func alternating(ranges []span, bits int) int {
	if bits < 32-alternatingBits {
		return 0
	}
	for i, r := range ranges {
		if i == mostAlternating || r.class != ranges[i%2].class {
			return i
		}
	}
	return len(ranges)
}

func alternatingNode(ranges []span, first uint32) classifierRulesNode {
	c := classifierRulesAlternatingNode{Class: [2]uint32{ranges[0].class, ranges[1].class | mark}}
	for i := range mostAlternating - 1 {
		bound := uint64(1) << alternatingBits
		if i+1 < len(ranges) {
			bound = uint64(ranges[i+1].first - first)
		}
		c.Bounds[i/4] |= bound << (i % 4 * 16)
	}
	return nodeOf(c)
}

func rangeNode(ranges []span) classifierRulesNode {
	var c classifierRulesRangeNode
	for i := range perNode {
		// The last again beyond them: it changes nothing.
		r := ranges[min(i, len(ranges)-1)]
		c.First[i], c.Class[i] = r.first, r.class
	}
	return nodeOf(c)
}

// addClasses puts the classes of a dimension behind what there is.
func (list *nodes) addClasses(d *dimension, classes []conditions, to *classifierRulesDimension) {
	most := uint8(0)
	for _, level := range d.level {
		most = max(most, level)
	}
	to.ClassShift = 4 // two levels
	for size := 8 + 4*int(most); 1<<to.ClassShift < size; {
		to.ClassShift++
	}
	to.Classes = uint32(len(*list))
	words := 1 << (to.ClassShift - 3)
	var c classifierRulesNode
	for i, now := range classes {
		at := i * words % len(c.Word)
		c.Word[at] = d.masksOf(now)
		for level, number := range now[:most] {
			c.Word[at+1+level/2] |= uint64(number) << (level % 2 * 32)
		}
		if at+words == len(c.Word) || i == len(classes)-1 {
			*list = append(*list, c)
			c = classifierRulesNode{}
		}
	}
}
