package geo

import "sort"

// layer says one thing about every address of a family: what it says of starts[i] holds
// up to the address before starts[i+1], the last up to the last address. The zero value
// says the zero value of all.
type layer[A address[A], V comparable] struct {
	starts []A
	values []V
}

// at returns what is said of an address.
func (l *layer[A, V]) at(a A) (v V) {
	i := sort.Search(len(l.starts), func(i int) bool { return a.less(l.starts[i]) })
	if i == 0 {
		return v
	}
	return l.values[i-1]
}

// put says v of all addresses from first on, which is after every start there is.
func (l *layer[A, V]) put(first A, v V) {
	if n := len(l.values); n > 0 && l.values[n-1] == v {
		return
	}
	l.starts, l.values = append(l.starts, first), append(l.values, v)
}

// draft is a layer that grows by ranges in rising order.
type draft[A address[A], V comparable] struct {
	layer[A, V]
	free A    // the first address that nothing is said of
	full bool // there is none
}

// add says v of the addresses from first to last, and the zero value of those before
// that no range had. It reports false, and does nothing, where one had addresses of this.
func (d *draft[A, V]) add(first, last A, v V) bool {
	if d.full || first.less(d.free) {
		return false
	}
	if d.free.less(first) {
		var nothing V
		d.put(d.free, nothing)
	}
	d.put(first, v)
	var start A
	d.free = last.next()
	d.full = d.free == start
	return true
}

// done returns the layer.
func (d *draft[A, V]) done() layer[A, V] {
	var nothing V
	if !d.full {
		d.put(d.free, nothing)
		d.full = true
	}
	return d.layer
}

// cross calls yield, until it returns false, with the longest runs of addresses of which
// each of three layers says one thing, in rising order.
func cross[A address[A], U, V, W comparable](l *layer[A, U], m *layer[A, V], n *layer[A, W], yield func(first, last A, u U, v V, w W) bool) {
	var first A
	a, b, c := cursor[A, U]{of: l}, cursor[A, V]{of: m}, cursor[A, W]{of: n}
	for {
		u, v, w := a.enter(first), b.enter(first), c.enter(first)
		var next A // the first address: there is no further start
		next = nearer(a.of.starts, a.passed, next)
		next = nearer(b.of.starts, b.passed, next)
		next = nearer(c.of.starts, c.passed, next)
		var start A
		if !yield(first, next.prev(), u, v, w) || next == start {
			return
		}
		first = next
	}
}

// cursor goes through a layer; it has passed that many starts.
type cursor[A address[A], V comparable] struct {
	of     *layer[A, V]
	passed int
}

func (c *cursor[A, V]) enter(a A) (v V) {
	if c.passed < len(c.of.starts) && c.of.starts[c.passed] == a {
		c.passed++
	}
	if c.passed == 0 {
		return v
	}
	return c.of.values[c.passed-1]
}

// nearer returns the lesser of starts[i] and next, where the first address is the farthest.
func nearer[A address[A]](starts []A, i int, next A) A {
	var start A
	if i < len(starts) && (next == start || starts[i].less(next)) {
		return starts[i]
	}
	return next
}
