package ban

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

func drawGrowth(t *rapid.T) Growth {
	return Growth{
		Factor: rapid.Float64Range(1, 100).Draw(t, "factor"), Cap: time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "cap")),
		Memory: time.Duration(rapid.Int64Range(int64(time.Minute), math.MaxInt64/8).Draw(t, "memory")),
	}
}

// No ban lasts longer than the cap, whatever overflows, and none shorter than the one
// before.
func TestProtectionRule8_BansGrowUpToTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrowth(t)
		base := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "base"))
		multiplier := rapid.Float64Range(0.01, 100).Draw(t, "multiplier")
		n := rapid.IntRange(1, math.MaxInt32).Draw(t, "n")
		one, next := g.Lasts(base, multiplier, n), g.Lasts(base, multiplier, n+1)
		if one <= 0 || one > g.Cap || next < one || next > g.Cap {
			t.Fatalf("the ban %d lasts %s, the next %s", n, one, next)
		}
	})
	g := Growth{Factor: 2, Cap: 10 * time.Hour}
	for n, want := range map[int]time.Duration{1: time.Hour, 2: 2 * time.Hour, 3: 4 * time.Hour, 4: 8 * time.Hour, 5: 10 * time.Hour, math.MaxInt: 10 * time.Hour} {
		if got := g.Lasts(time.Hour, 1, n); got != want {
			t.Errorf("the ban %d lasts %s, want %s", n, got, want)
		}
	}
	if got := g.Lasts(time.Hour, 0.5, 2); got != time.Hour {
		t.Errorf("with half the time it lasts %s", got)
	}
}

// Of n offences those are left that the time since the last ban has not had forgotten, and
// one that is told while the ban goes on is none.
func TestOffencesAreForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const memory = time.Hour
		lasts := func(int) time.Duration { return time.Minute }
		var o Offences
		now, want := start, 0
		for range rapid.IntRange(1, 20).Draw(t, "offences") {
			r := o.Next(now, one, memory, lasts)
			if want++; r.Count != want || !r.Until.Equal(now.Add(time.Minute)) {
				t.Fatalf("%+v, want %d", r, want)
			}
			o.Put(now, memory, map[netip.Prefix]Record{one: r})
			if again := o.Next(now.Add(time.Second), one, memory, lasts); again.Count != want || again.Until.Before(r.Until) {
				t.Fatalf("during the ban %+v became %+v", r, again)
			}
			idle := time.Duration(rapid.Int64Range(0, int64(5*time.Hour)).Draw(t, "idle"))
			now = r.Until.Add(idle)
			want = max(0, want-int(idle/memory))
		}
	})
	var o Offences
	o.Put(start, time.Hour, map[netip.Prefix]Record{one: {Count: 3, Until: start}, other: {Count: 1, Until: start}})
	if within := o.Within([]netip.Prefix{wide}); !slices.Equal(within, []netip.Prefix{one}) {
		t.Errorf("in %s are %v", wide, within)
	}
	o.Forgive([]netip.Prefix{one})
	if _, known := o.records[one]; known || o.Next(start, one, time.Hour, func(int) time.Duration { return 1 }).Count != 1 {
		t.Error("who was forgiven is remembered")
	}
	if r := o.Next(start, other, time.Hour, func(int) time.Duration { return 1 }); r.Count != 2 {
		t.Errorf("who was not forgiven has %+v", r)
	}
}

// A clock that was set back has nothing forgotten, and nobody banned for longer.
func TestOffenceBeforeTheLastOne(t *testing.T) {
	var o Offences
	o.Put(start, time.Hour, map[netip.Prefix]Record{one: {Count: 3, Until: start}})
	r := o.Next(start.Add(-100*time.Hour), one, time.Hour, func(int) time.Duration { return time.Minute })
	if r.Count != 3 || !r.Until.Equal(start) {
		t.Errorf("%+v", r)
	}
}

func offenders(n int, from byte) map[netip.Prefix]Record {
	made := make(map[netip.Prefix]Record, n)
	for i := range n {
		a := netip.AddrFrom4([4]byte{from, byte(i >> 16), byte(i >> 8), byte(i)})
		made[model.OffenderOf(a)] = Record{Count: 1, Until: start.Add(time.Duration(i) * time.Second)}
	}
	return made
}

// Beyond the most offenders those with the fewest offences are forgotten, the oldest
// first, and just those are named.
func TestOffendersAreBounded(t *testing.T) {
	var o Offences
	often := netip.MustParsePrefix("192.0.2.1/32")
	if gone := o.Put(start, time.Hour, map[netip.Prefix]Record{often: {Count: 9, Until: start.Add(-time.Hour)}}); len(gone) != 0 {
		t.Fatal(gone)
	}
	if gone := o.Put(start, time.Hour, offenders(MostOffenders-1, 45)); len(gone) != 0 {
		t.Fatalf("%d were forgotten before there were too many", len(gone))
	}
	newest := netip.MustParsePrefix("192.0.2.2/32")
	gone := o.Put(start, time.Hour, map[netip.Prefix]Record{newest: {Count: 1, Until: start.Add(1000 * time.Hour)}})
	if want := MostOffenders/16 + 1; len(gone) != want || len(o.records) != MostOffenders+1-want {
		t.Errorf("%d were forgotten, and %d are left: want %d forgotten", len(gone), len(o.records), want)
	}
	for i, p := range gone {
		if want := netip.AddrFrom4([4]byte{45, byte(i >> 16), byte(i >> 8), byte(i)}); p.Addr() != want {
			t.Fatalf("%s was forgotten before %s", p, want)
		}
	}
	for _, p := range []netip.Prefix{often, newest} {
		if _, known := o.records[p]; !known {
			t.Errorf("%s was forgotten", p)
		}
	}
}

// What is loaded is bounded as well, and without what is forgotten by now.
func TestLoadOfOffences(t *testing.T) {
	var o Offences
	over := o.Load(start.Add(2*time.Hour), time.Hour, map[netip.Prefix]Record{one: {Count: 2, Until: start}, other: {Count: 3, Until: start}, wide: {Count: 0, Until: start.Add(5 * time.Hour)}})
	if _, known := o.records[other]; !known || len(over) != 2 {
		t.Errorf("%v are over, %v are left", over, o.records)
	}
	if over := o.Load(start, time.Hour, offenders(MostOffenders+5, 45)); len(over) < 5 || len(o.records) > MostOffenders {
		t.Errorf("%d are over, %d are left", len(over), len(o.records))
	}
}

// A subnet is banned by as many of its offenders as it takes, no longer than the longest
// of their bans, and not by bans by hand or of others.
func TestAggregate(t *testing.T) {
	var l List
	offence := func(last byte, hours int) Ban {
		p := model.OffenderOf(netip.AddrFrom4([4]byte{203, 0, 113, last}))
		return Ban{Prefix: p, Since: start, Until: start.Add(time.Duration(hours) * time.Hour), Offence: 1}
	}
	l.Put([]Ban{offence(0, 3), {Prefix: one}, {Prefix: other, Offence: 1}})
	for most, want := range map[int]bool{0: false, 1: true, 3: true, 4: false} {
		whole, instead, aggregated := l.Aggregate(wide, []Ban{offence(255, 1), offence(254, 2)}, most)
		if aggregated != want {
			t.Errorf("by %d: %t", most, aggregated)
		}
		if aggregated && (whole.Prefix != wide || !whole.Until.Equal(start.Add(3*time.Hour)) || whole.Offence != 0 || len(instead) != 1 || instead[0] != offence(0, 0).Prefix) {
			t.Errorf("by %d: %+v in place of %v", most, whole, instead)
		}
	}
}
