package geo

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Where ranges begin and end, those of both ends of the address space among them.
var (
	edges4 = rapid.SampledFrom([]v4{0, 1, 2, 3, 0x0a000000, 0x7fffffff, 0x80000000, 0xfffffffd, 0xfffffffe, 0xffffffff})
	most64 = uint64(0xffffffffffffffff)
	edges6 = rapid.SampledFrom([]v6{{0, 0}, {0, 1}, {0, most64}, {1, 0}, {1, 1}, {0x20010db8 << 32, 0}, {0x20010db8<<32 | 0xffffffff, most64},
		{most64, 0}, {most64, most64 - 1}, {most64, most64}})
)

func TestLayerSaysWhatWasAdded(t *testing.T) {
	t.Run("IPv4", rapid.MakeCheck(func(t *rapid.T) { checkDraft(t, edges4) }))
	t.Run("IPv6", rapid.MakeCheck(func(t *rapid.T) { checkDraft(t, edges6) }))
}

func checkDraft[A address[A]](t *rapid.T, edge *rapid.Generator[A]) {
	type span struct {
		first, last A
		v           int
	}
	var said []span
	var d draft[A, int]
	for range rapid.IntRange(0, 8).Draw(t, "ranges") {
		s := span{edge.Draw(t, "first"), edge.Draw(t, "last"), rapid.IntRange(0, 2).Draw(t, "value")}
		if s.last.less(s.first) {
			s.first, s.last = s.last, s.first
		}
		after := !slices.ContainsFunc(said, func(o span) bool { return !o.last.less(s.first) })
		if ok := d.add(s.first, s.last, s.v); ok != after {
			t.Fatalf("%v after %v: %v", s, said, ok)
		}
		if after {
			said = append(said, s)
		}
	}
	l := d.done()
	for i := 1; i < len(l.starts); i++ {
		if !l.starts[i-1].less(l.starts[i]) || l.values[i-1] == l.values[i] {
			t.Fatalf("%v is not in the longest runs: %+v", said, l)
		}
	}
	a := edge.Draw(t, "address")
	want := 0
	for _, s := range said {
		if !a.less(s.first) && !s.last.less(a) {
			want = s.v
		}
	}
	if got := l.at(a); got != want {
		t.Fatalf("%v in %v: %d, want %d", a, said, got, want)
	}
}

// cross goes once through all addresses, and says of each what the layers say.
func TestCrossAgreesWithItsLayers(t *testing.T) {
	t.Run("IPv4", rapid.MakeCheck(func(t *rapid.T) { checkCross(t, edges4) }))
	t.Run("IPv6", rapid.MakeCheck(func(t *rapid.T) { checkCross(t, edges6) }))
}

func drawLayer[A address[A]](t *rapid.T, edge *rapid.Generator[A]) layer[A, int] {
	var d draft[A, int]
	if rapid.Bool().Draw(t, "zero value") {
		return layer[A, int]{}
	}
	for range rapid.IntRange(0, 6).Draw(t, "ranges") {
		first, last := edge.Draw(t, "first"), edge.Draw(t, "last")
		if !last.less(first) {
			d.add(first, last, rapid.IntRange(0, 3).Draw(t, "value"))
		}
	}
	return d.done()
}

func checkCross[A address[A]](t *rapid.T, edge *rapid.Generator[A]) {
	l, m, n := drawLayer(t, edge), drawLayer(t, edge), drawLayer(t, edge)
	var next, start A
	over := false
	cross(&l, &m, &n, func(first, last A, u, v, w int) bool {
		if over || first != next || last.less(first) {
			t.Fatalf("%v to %v, want it from %v on", first, last, next)
		}
		for _, a := range []A{first, last} {
			if l.at(a) != u || m.at(a) != v || n.at(a) != w {
				t.Fatalf("%v: %d %d %d, want %d %d %d", a, u, v, w, l.at(a), m.at(a), n.at(a))
			}
		}
		next = last.next()
		over = next == start
		return true
	})
	if !over {
		t.Fatalf("it ended before %v", next)
	}
}

var somePrefixes = rapid.Map(rapid.SampledFrom([]string{
	"0.0.0.0/0", "0.0.0.0/32", "10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/32", "10.0.0.7/32", "10.0.1.0/24", "10.128.0.0/9", "255.255.255.255/32",
	"255.0.0.0/8", "::/0", "::/128", "2001:db8::/32", "2001:db8::/64", "2001:db8::/65", "2001:db8::1/128", "2001:db8:0:0:8000::/65", "2001:db9::/32",
	"ffff::/16", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
}), netip.MustParsePrefix)

// someAddress draws an address of the prefixes, or beside one.
func someAddress(t *rapid.T) netip.Addr {
	p := somePrefixes.Draw(t, "around")
	a := p.Addr()
	if rapid.Bool().Draw(t, "last") {
		if a.Is4() {
			_, last := rangeV4(p)
			a = netip.AddrFrom4([4]byte(last.append(nil)))
		} else {
			_, last := rangeV6(p)
			a = last.addr()
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "beside") {
	case 1:
		if b := a.Next(); b.IsValid() {
			return b
		}
	case 2:
		if b := a.Prev(); b.IsValid() {
			return b
		}
	}
	return a
}

func TestFlattenedPrefixesSayTheNarrowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(somePrefixes, 0, 12, rapid.ID).Draw(t, "prefixes")
		four, six := flatten(list, netip.Addr.Is4, rangeV4), flatten(list, netip.Addr.Is6, rangeV6)
		a := someAddress(t)
		want, bits := uint32(0), -1
		for i, p := range list {
			if p.Contains(a) && p.Bits() > bits {
				want, bits = uint32(i+1), p.Bits()
			}
		}
		got := uint32(0)
		if a.Is4() {
			got = four.at(asV4(a))
		} else {
			got = six.at(asV6(a))
		}
		if got != want {
			t.Fatalf("%s in %v: %d, want %d", a, list, got, want)
		}
	})
}
