package pact

// numbers gives numbers and their tags, the number that is free longest first.
type numbers struct {
	free    *queue
	uses    []uint16        // by number: the upper half of its last tag
	adopted map[uint16]bool // numbers whose use is an earlier Store's
}

func newNumbers(most int, random func() uint64) *numbers {
	n := &numbers{free: newQueue(most + 1), uses: make([]uint16, most+1), adopted: make(map[uint16]bool)}
	var word uint64
	for number := range n.uses {
		if number%4 == 0 {
			word = random()
		}
		n.uses[number] = uint16(word >> (number % 4 * 16))
		if number > 0 {
			n.free.push(number)
		}
	}
	return n
}

// take takes a number with its next tag, false where none is free.
func (n *numbers) take() (tag uint32, free bool) {
	number, free := n.free.first()
	if !free {
		return 0, false
	}
	n.free.remove(number)
	n.uses[number]++
	return uint32(n.uses[number])<<16 | uint32(number), true
}

// had sees to it that the tags of a number go on from the latest that it had.
func (n *numbers) had(tag uint32) {
	number, use := uint16(tag), uint16(tag>>16)
	if int(number) < len(n.uses) && (!n.adopted[number] || int16(use-n.uses[number]) > 0) {
		n.uses[number], n.adopted[number] = use, true
	}
}
