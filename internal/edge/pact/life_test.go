package pact

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/model"
)

const second = model.Instant(time.Second)

func options() Options {
	return Options{
		Proxy: netip.MustParsePrefix("172.31.0.0/24"), Most: 64, Rest: 730 * time.Second, Idle: 5 * time.Minute, PerHost: 32, PerEdge: 32,
		Random: func() uint64 { return 0x0001000200030004 },
	}
}

func key(host byte, remote model.Name) Key {
	return Key{Host: netip.AddrFrom4([4]byte{10, 0, 0, host}), Local: "hosta.a.example.", Remote: remote}
}

func agreed(other uint64, until model.Instant) Agreed {
	return Agreed{Other: other, Terms: policy.Widest, Out: true, Until: until, Vouched: policy.Pinned}
}

// stand opens and settles a pact.
func stand(t *testing.T, s *Store, now model.Instant, k Key, other uint64) Pact {
	t.Helper()
	p, fresh, err := s.Open(now, k, "edge.b.example.")
	if err != nil || !fresh {
		t.Fatalf("opening %v: fresh %v, %v", k, fresh, err)
	}
	p, err = s.Settle(now, p.Number, 77, agreed(other, now.Add(time.Hour)))
	if err != nil {
		t.Fatalf("settling %v: %v", k, err)
	}
	return p
}

func TestLifeOfAPact(t *testing.T) {
	t.Parallel()
	s := New(options())
	k := key(1, "hostb.b.example.")
	opening, _, _ := s.Open(second, k, "edge.b.example.")
	if _, found := s.ByProxy(k.Host, opening.Proxy); found || opening.Own&0xffff != uint32(opening.Number) {
		t.Errorf("an opening pact is nobody's way yet, and its tag has its number: %+v", opening)
	}
	if again, fresh, err := s.Open(second, k, "edge.b.example."); fresh || err != nil || again.Number != opening.Number {
		t.Errorf("opened again: got %+v, fresh %v, %v", again, fresh, err)
	}
	live, err := s.Settle(second, opening.Number, 77, agreed(5, 3600*second))
	if err != nil || live.State != Live || live.Peer != 77 || !live.Out || live.In {
		t.Fatalf("settled: got %+v, %v", live, err)
	}
	if _, err := s.Settle(second, opening.Number, 78, agreed(5, 3600*second)); err == nil {
		t.Error("a live pact was settled again")
	}
	if p, found := s.ByTag(live.Own); !found || p.Proxy != live.Proxy {
		t.Errorf("by tag: got %+v", p)
	}
	if _, found := s.ByTag(live.Own + 1<<16); found {
		t.Error("an earlier tag of the number was found")
	}
	if _, found := s.ByProxy(netip.MustParseAddr("10.0.0.9"), live.Proxy); found {
		t.Error("another host's proxy address was found")
	}
	wide, err := s.Accept(2*second, k, "edge.b.example.", 77, Agreed{Other: 5, Terms: policy.Widest, In: true, Ping: true, Rule: 3, Until: 1800 * second})
	if err != nil || !wide.Out || !wide.In || !wide.Ping || wide.Rule != [2]int{0, 3} || wide.Own != live.Own || wide.Proxy != live.Proxy {
		t.Errorf("widened: got %+v, %v", wide, err)
	}
	if _, err := s.Widen(2*second, live.Number, agreed(6, 1800*second)); err == nil {
		t.Error("widened for another machine")
	}
	ended, was := s.End(3*second, live.Number)
	if !was || ended.State != Resting || ended.Rests != ended.Used.Add(730*time.Second) {
		t.Errorf("ended: got %+v", ended)
	}
	if _, found := s.ByKey(k); found {
		t.Error("an ended pact was found")
	}
}

// Opens that cross, a peer that lost what it had, and names that are another peer's now.
func TestAcceptOfWhatIsThere(t *testing.T) {
	t.Parallel()
	s := New(options())
	k := key(1, "hostb.b.example.")
	in := Agreed{Other: 5, Terms: policy.Widest, In: true, Ways: []Way{{model.TCP, 80, 8080}}, Until: 3600 * second}
	opening, _, _ := s.Open(second, k, "edge.b.example.")
	if _, err := s.Accept(second, k, "edge.c.example.", 77, in); !errors.Is(err, ErrMoved) {
		t.Errorf("an opening one, asked for by another peer: got %v", err)
	}
	crossed, err := s.Accept(second, k, "edge.b.example.", 77, in)
	if err != nil || crossed.Own != opening.Own || crossed.State != Live || crossed.Out || !crossed.In {
		t.Errorf("crossing opens: got %+v, %v", crossed, err)
	}
	both, err := s.Widen(second, crossed.Number, agreed(5, 3600*second))
	if err != nil || !both.Out || !both.In || len(both.Ways) != 1 || both.Rule != [2]int{0, 0} {
		t.Errorf("and our own, answered: got %+v, %v", both, err)
	}
	anew, err := s.Accept(second, k, "edge.b.example.", 78, Agreed{Other: 5, Terms: policy.Widest, In: true, Ping: true, Until: 3600 * second})
	if err != nil || anew.Own != both.Own || anew.Proxy != both.Proxy || anew.Peer != 78 || anew.Out || !anew.Ping || len(anew.Ways) > 0 {
		t.Errorf("a peer that begins anew: got %+v, %v", anew, err)
	}
	for name, c := range map[string]struct {
		peer  string
		other uint64
	}{"another peer": {"edge.c.example.", 5}, "another machine": {"edge.b.example.", 6}} {
		in.Other = c.other
		if _, err := s.Accept(second, k, c.peer, 78, in); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if now, _ := s.ByKey(k); !reflect.DeepEqual(now, anew) {
		t.Errorf("what was refused has changed it: %+v", now)
	}
	if !Wins("edge.a.example.", "edge.b.example.") || Wins("edge.b.example.", "edge.a.example.") {
		t.Error("of crossing opens, that of the smaller name stays")
	}
}
