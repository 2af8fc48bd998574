package ban

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"
)

var (
	start = time.Unix(1_800_000_000, 0)
	wide  = netip.MustParsePrefix("203.0.113.0/24")
	one   = netip.MustParsePrefix("203.0.113.7/32")
	other = netip.MustParsePrefix("198.51.100.1/32")
)

func anybody(netip.Prefix) error { return nil }

// add bans prefixes for a while; 0 is for ever.
func (l *List) add(t *testing.T, lasts time.Duration, prefixes ...netip.Prefix) {
	t.Helper()
	until := time.Time{}
	if lasts > 0 {
		until = start.Add(lasts)
	}
	made, err := l.Plan(start, until, "a test", prefixes, anybody)
	if err != nil {
		t.Fatal(err)
	}
	l.Put(made)
}

// A narrow ban that ends early leaves no hole in a wide one.
func TestEffectiveIsTheLatestOfAllThatCover(t *testing.T) {
	var l List
	l.add(t, time.Minute, one)
	if until, banned := l.Effective(one); !banned || !until.Equal(start.Add(time.Minute)) {
		t.Errorf("%v, %v", until, banned)
	}
	l.add(t, time.Hour, wide)
	if until, banned := l.Effective(one); !banned || !until.Equal(start.Add(time.Hour)) {
		t.Errorf("below a wider ban of an hour: %v, %v", until, banned)
	}
	l.add(t, 0, netip.MustParsePrefix("203.0.0.0/8"))
	if until, banned := l.Effective(one); !banned || !until.IsZero() {
		t.Errorf("below a wider ban for ever: %v, %v", until, banned)
	}
	if b, banned := l.Of(one.Addr()); !banned || b.Prefix != netip.MustParsePrefix("203.0.0.0/8") {
		t.Errorf("of all bans %v lasts longest", b)
	}
	if _, banned := l.Of(other.Addr()); banned {
		t.Error("somebody else is banned")
	}
	if _, banned := l.Effective(other); banned {
		t.Error("somebody else is banned")
	}
	if over := l.Expire(start.Add(time.Minute)); !slices.Equal(over, []netip.Prefix{one}) || l.Has(one) || !l.Has(wide) {
		t.Errorf("after a minute %v are over", over)
	}
}

func TestUnder(t *testing.T) {
	var l List
	l.add(t, 0, one, wide, other)
	sorted := func(list []netip.Prefix) []netip.Prefix {
		slices.SortFunc(list, netip.Prefix.Compare)
		return list
	}
	for _, c := range []struct{ asked, want []netip.Prefix }{
		{[]netip.Prefix{one}, []netip.Prefix{one}},
		{[]netip.Prefix{wide}, []netip.Prefix{wide, one}},
		{[]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, []netip.Prefix{other, wide, one}},
		{[]netip.Prefix{netip.MustParsePrefix("203.0.113.8/32")}, nil},
	} {
		if got := sorted(l.Under(c.asked)); !slices.Equal(got, c.want) {
			t.Errorf("under %v: %v, want %v", c.asked, got, c.want)
		}
	}
}

// What must not be banned changes nothing, the others with it.
func TestPlanRefuses(t *testing.T) {
	var l List
	kept := errors.New("it is ours")
	_, err := l.Plan(start, start, "a test", []netip.Prefix{one, other}, func(p netip.Prefix) error {
		if p == other {
			return kept
		}
		return nil
	})
	if !errors.Is(err, kept) || len(l.All()) != 0 {
		t.Errorf("%v, %v", err, l.All())
	}
	for _, p := range []netip.Prefix{{}, netip.MustParsePrefix("::ffff:203.0.113.7/128")} {
		if _, err := l.Plan(start, start, "a test", []netip.Prefix{p}, anybody); err == nil {
			t.Errorf("%v was accepted", p)
		}
	}
	made, err := l.Plan(start, start, "a test", []netip.Prefix{one, netip.MustParsePrefix("203.0.113.7/24"), wide}, anybody)
	if err != nil || len(made) != 2 {
		t.Errorf("one prefix twice: %v, %v", made, err)
	}
}

func TestLoadLeavesOutWhatIsOver(t *testing.T) {
	var l List
	l.Load(start, []Ban{{Prefix: one, Until: start}, {Prefix: wide, Until: start.Add(1)}, {Prefix: other}})
	if l.Has(one) || !l.Has(wide) || !l.Has(other) {
		t.Errorf("%v", l.All())
	}
}

// Of two bans of a prefix the longer can be told, and bans of others are no matter.
func TestOutlasts(t *testing.T) {
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		before, next time.Time
		want         bool
	}{
		{at(time.Hour), at(time.Minute), true}, {at(time.Hour), at(time.Hour), true}, {at(time.Minute), at(time.Hour), false},
		{time.Time{}, at(time.Hour), true}, {at(time.Hour), time.Time{}, false}, {time.Time{}, time.Time{}, true},
	} {
		var l List
		l.Put([]Ban{{Prefix: one, Until: c.before}, {Prefix: wide}})
		if got := l.Outlasts(Ban{Prefix: one, Until: c.next}); got != c.want {
			t.Errorf("a ban until %v and one until %v: %v", c.before, c.next, got)
		}
		if l.Outlasts(Ban{Prefix: other, Until: c.next}) {
			t.Error("who is not banned has a ban that lasts longer")
		}
	}
}
