package pool

import "math/bits"

// bitset is a plain set of small non-negative numbers, as long as its largest
// member ever needed.
type bitset []uint64

func (b bitset) has(i int32) bool {
	w := int(i >> 6)
	return w < len(b) && b[w]&(1<<(i&63)) != 0
}

func (b *bitset) add(i int32) {
	for w := int(i >> 6); w >= len(*b); {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}

func (b bitset) remove(i int32) { b[i>>6] &^= 1 << (i & 63) }

// word returns the members 64w..64w+63 as bits.
func (b bitset) word(w int) uint64 {
	if w < len(b) {
		return b[w]
	}
	return 0
}

// set is a bitset that also knows its size and which of its words are not
// empty, so that walking a sparse one is cheap.
type set struct {
	members, words bitset
	size           int
}

func (s *set) add(i int32) {
	if s.members.has(i) {
		return
	}
	s.members.add(i)
	s.words.add(i >> 6)
	s.size++
}

func (s *set) remove(i int32) {
	if !s.members.has(i) {
		return
	}
	s.members.remove(i)
	if s.members[i>>6] == 0 {
		s.words.remove(i >> 6)
	}
	s.size--
}

// next returns the least member that is from or more, or -1.
func (s *set) next(from int32) int32 {
	w := from >> 6
	if rest := s.members.word(int(w)) >> (from & 63) << (from & 63); rest != 0 {
		return w<<6 + int32(bits.TrailingZeros64(rest))
	}
	for w++; int(w>>6) < len(s.words); w = (w>>6 + 1) << 6 {
		if rest := s.words[w>>6] >> (w & 63) << (w & 63); rest != 0 {
			w = w>>6<<6 + int32(bits.TrailingZeros64(rest))
			return w<<6 + int32(bits.TrailingZeros64(s.members[w]))
		}
	}
	return -1
}
