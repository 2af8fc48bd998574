package pact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/model"
)

// name is the n-th remote name.
func name(n int) model.Name { return model.Name(fmt.Sprintf("h%d.b.example.", n)) }

// Each bound refuses by its own error, harms nobody else, and is there again when something has ended and rested.
func TestEdgeBounds(t *testing.T) {
	t.Parallel()
	o := options()
	o.Proxy, o.Most, o.PerHost, o.PerEdge, o.Rest = netip.MustParsePrefix("172.31.0.0/27"), 28, 10, 20, time.Minute
	s := New(o)
	for n := range 10 {
		stand(t, s, second, key(1, name(n)), 1)
	}
	if _, _, err := s.Open(second, key(1, name(10)), "edge.b.example."); !errors.Is(err, ErrHostQuota) {
		t.Errorf("the eleventh of a host: got %v", err)
	}
	in := Agreed{Other: 1, Terms: policy.Widest, In: true, Until: 3600 * second}
	if _, err := s.Accept(second, key(1, name(10)), "edge.b.example.", 7, in); err != nil {
		t.Errorf("what a peer asks for is not of its host's quota: got %v", err)
	}
	if _, fresh, err := s.Open(second, key(1, name(3)), "edge.b.example."); err != nil || fresh {
		t.Errorf("what stands, asked again at the bound: got %v, %v", fresh, err)
	}
	for n := range 9 {
		stand(t, s, second, key(2, name(n)), 1)
	}
	if _, _, err := s.Open(second, key(2, name(10)), "edge.b.example."); !errors.Is(err, ErrEdgeQuota) {
		t.Errorf("the twenty-first of a peer: got %v", err)
	}
	if _, err := s.Accept(second, key(3, name(10)), "edge.b.example.", 7, in); !errors.Is(err, ErrEdgeQuota) {
		t.Errorf("the same, asked for by the peer: got %v", err)
	}
	var last Pact
	for n := range 8 { // another peer's: the bound of one leaves the others unharmed
		p, _, err := s.Open(second, key(byte(10+n), "x.c.example."), "edge.c.example.")
		if err != nil {
			t.Fatalf("pact %d of another peer: %v", n, err)
		}
		last = p
	}
	before := s.Usage()
	if _, _, err := s.Open(second, key(99, "x.c.example."), "edge.c.example."); !errors.Is(err, ErrExhausted) || s.Usage() != before {
		t.Errorf("number 29 of 28: got %v, %+v, was %+v", err, s.Usage(), before)
	}
	s.Cancel(second, last.Number)
	if p, _, err := s.Open(second, key(99, "x.c.example."), "edge.c.example."); err != nil || p.Number != last.Number {
		t.Errorf("after one was cancelled: got %+v, %v", p, err)
	}
}

// Whoever opens and ends in a loop comes to a bound of its own: what rests counts.
func TestRestsCountForTheirEdge(t *testing.T) {
	t.Parallel()
	o := options()
	o.Most, o.PerEdge = 200, 20
	s := New(o)
	made := 0
	for n := range 100 {
		p, _, err := s.Open(second, key(byte(n), name(n)), "edge.b.example.")
		if err != nil {
			continue
		}
		made++
		if _, err := s.Settle(second, p.Number, 7, agreed(1, 3600*second)); err != nil {
			t.Fatal(err)
		}
		s.End(second, p.Number)
	}
	if made != 20 {
		t.Errorf("%d pacts were made and ended, want 20", made)
	}
	if _, _, err := s.Open(732*second, key(1, name(500)), "edge.b.example."); err != nil {
		t.Errorf("after all have rested: got %v", err)
	}
	// The same name, each time for another machine.
	s = New(o)
	made = 0
	for n := range 100 {
		p, _, err := s.Open(second, key(1, name(1)), "edge.b.example.")
		if err != nil {
			t.Fatalf("a name that has rested may return: %v", err)
		}
		if _, err := s.Settle(second, p.Number, 7, agreed(uint64(n), 3600*second)); err != nil {
			if !errors.Is(err, ErrEdgeQuota) {
				t.Fatal(err)
			}
			s.Cancel(second, p.Number)
			continue
		}
		made++
		s.End(second, p.Number)
	}
	if made != 20 || s.Usage().Resting != 20 {
		t.Errorf("%d pacts of one name, %d addresses rest, want 20", made, s.Usage().Resting)
	}
}

// Where numbers are plenty, addresses run out: while all of them rest, there are none; the longest rested is the next.
func TestAddressesRunOut(t *testing.T) {
	t.Parallel()
	o := options()
	o.Proxy, o.Rest = netip.MustParsePrefix("172.31.7.0/28"), time.Minute
	s := New(o)
	var first Pact
	for n := range 14 {
		p := stand(t, s, second, key(byte(n+1), name(n)), 1)
		if n == 5 {
			first = p
		}
	}
	if _, _, err := s.Open(second, key(99, name(99)), "edge.b.example."); !errors.Is(err, ErrExhausted) {
		t.Errorf("the fifteenth of fourteen addresses: got %v", err)
	}
	s.End(2*second, first.Number)
	if _, _, err := s.Open(60*second, key(99, name(99)), "edge.b.example."); !errors.Is(err, ErrExhausted) {
		t.Errorf("while the only free address rests: got %v", err)
	}
	if p, _, err := s.Open(61*second, key(99, name(99)), "edge.b.example."); err != nil || p.Proxy != first.Proxy {
		t.Errorf("when it has rested: got %+v, %v, want %v", p, err, first.Proxy)
	}
	if _, _, err := s.Open(61*second, first.Key, "edge.b.example."); !errors.Is(err, ErrExhausted) {
		t.Errorf("and its last owner has none: got %v", err)
	}
}

// Defects 2 and 12 of the predecessor: a million tags, of a few thousand numbers. Each is of its number, none is 0, none is
// drawn twice within a rest, and what is drawn is not the same in the next process.
func TestTagsAreDrawn(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	o := options()
	o.Proxy, o.Most, o.PerEdge, o.PerHost, o.Random = netip.MustParsePrefix("172.31.0.0/16"), 4096, 1<<20, 1<<20, random.Uint64
	s, other := New(o), New(o)
	seen := make(map[uint32]bool, 1_000_000)
	k := key(1, name(1))
	alike := 0
	for n := range 1_000_000 {
		p, _, err := s.Open(second, k, "edge.b.example.")
		if err != nil {
			t.Fatal(err)
		}
		if p.Own == 0 || p.Number == 0 || p.Number > 4096 || uint16(p.Own) != p.Number || seen[p.Own] {
			t.Fatalf("tag %d is %#08x of number %d, seen: %v", n, p.Own, p.Number, seen[p.Own])
		}
		seen[p.Own] = true
		s.Cancel(second, p.Number)
		if n < 4096 {
			q, _, _ := other.Open(second, k, "edge.b.example.")
			other.Cancel(second, q.Number)
			if q.Own == p.Own {
				alike++
			}
		}
	}
	if alike > 4 {
		t.Errorf("%d of 4096 first tags are those of another process", alike)
	}
}

// A name comes back to its address, also in the next process, if nobody has it.
func TestNamesReturnToTheirAddress(t *testing.T) {
	t.Parallel()
	s, next := New(options()), New(options())
	for n := range 16 {
		stand(t, s, second, key(1, name(n)), 1)
	}
	back := 0
	for n := range 16 {
		p := stand(t, next, second, key(1, name(n)), 1)
		if was, _ := s.ByKey(p.Key); was.Proxy == p.Proxy {
			back++
		}
	}
	if back != 16 {
		t.Errorf("%d of 16 names have their address again", back)
	}
	p, _ := s.ByKey(key(1, name(3)))
	s.End(2*second, p.Number)
	if again := stand(t, s, 3*second, p.Key, 1); again.Proxy != p.Proxy || again.Own == p.Own {
		t.Errorf("the same name, at once: got %+v, was %+v", again, p)
	}
	again, _ := s.ByKey(p.Key)
	s.End(4*second, again.Number)
	moved := stand(t, s, 5*second, p.Key, 2)
	if moved.Proxy == p.Proxy {
		t.Errorf("the same name for another machine has the address that rests: %v", moved.Proxy)
	}
	s.End(6*second, moved.Number)
	if back := stand(t, s, 7*second, p.Key, 1); back.Proxy != p.Proxy {
		t.Errorf("and for the first machine: got %v, want %v", back.Proxy, p.Proxy)
	}
}

// The addresses of a range that stand for names: none that ends in 0 or 255, not the first, not the last.
func TestUsableAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"172.31.0.0/16": 65024, "172.31.0.0/24": 254, "172.31.4.16/28": 14, "255.255.255.240/28": 14, "172.31.0.0/27": 30} {
		usable := usableOf(netip.MustParsePrefix(text))
		if len(usable) != want {
			t.Errorf("%s: %d usable, want %d", text, len(usable), want)
		}
		for _, a := range usable {
			if last := a.As4()[3]; last == 0 || last == 255 {
				t.Errorf("%s: %v", text, a)
			}
		}
	}
}

// A host that asks for what peers have asked for before comes to its bound, too.
func TestHostsBoundHoldsForWhatRests(t *testing.T) {
	t.Parallel()
	o := options()
	o.PerHost = 5
	s := New(o)
	for n := range 20 {
		p, err := s.Accept(second, key(1, name(n)), "edge.b.example.", 7, Agreed{Other: 1, Terms: policy.Widest, In: true, Until: 3600 * second})
		if err != nil {
			t.Fatal(err)
		}
		s.End(second, p.Number)
	}
	made := 0
	for n := range 20 {
		before := s.Usage()
		_, _, err := s.Open(2*second, key(1, name(n)), "edge.b.example.")
		switch {
		case err == nil:
			made++
		case !errors.Is(err, ErrHostQuota) || s.Usage() != before:
			t.Errorf("got %v, %+v, was %+v", err, s.Usage(), before)
		}
	}
	if made != 5 {
		t.Errorf("%d pacts of a host, want 5", made)
	}
}
