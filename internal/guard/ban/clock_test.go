package ban

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

const week = 7 * 24 * time.Hour

// What was made while the clock was years ahead keeps its length from now on, once the
// clock is right, and none but a ban by hand lasts for longer than the cap.
func TestClockThatWasAheadMakesNoBanLonger(t *testing.T) {
	ahead := start.AddDate(5, 0, 0)
	at := func(t time.Time, d time.Duration) time.Time { return t.Add(d) }
	for name, c := range map[string]struct {
		ban, want Ban
	}{
		"of an offender":     {Ban{Since: ahead, Until: at(ahead, time.Hour), Offence: 2, Reason: "jail"}, Ban{Since: start, Until: at(start, time.Hour), Offence: 2, Reason: "jail"}},
		"of a subnet":        {Ban{Since: ahead, Until: at(ahead, time.Hour), Reason: "3 addresses"}, Ban{Since: start, Until: at(start, time.Hour), Reason: "3 addresses"}},
		"as long as another": {Ban{Since: at(start, -1), Until: ahead, Offence: 1}, Ban{Since: at(start, -1), Until: at(start, week), Offence: 1}},
		"a subnet's as such": {Ban{Since: at(start, -1), Until: ahead, Reason: "3 addresses"}, Ban{Since: at(start, -1), Until: at(start, week), Reason: "3 addresses"}},
		"by hand":            {Ban{Since: ahead, Until: at(ahead, 3*week), Reason: Manual}, Ban{Since: start, Until: at(start, 3*week), Reason: Manual}},
		"by hand for ever":   {Ban{Since: ahead, Reason: Manual}, Ban{Since: start, Reason: Manual}},
		"by hand for years":  {Ban{Since: start, Until: ahead, Reason: Manual}, Ban{Since: start, Until: ahead, Reason: Manual}},
		"without a reason":   {Ban{Since: start, Until: ahead}, Ban{Since: start, Until: ahead}},
		"of the right clock": {Ban{Since: at(start, -time.Hour), Until: at(start, time.Hour), Offence: 1}, Ban{Since: at(start, -time.Hour), Until: at(start, time.Hour), Offence: 1}},
	} {
		c.ban.Prefix, c.want.Prefix = one, one
		var l List
		l.Put([]Ban{c.ban})
		changed := l.Mend(start, week)
		if got, _ := l.Get(one); got != c.want || len(changed) > 0 != (c.ban != c.want) {
			t.Errorf("%s: %+v, want %+v; changed are %v", name, got, c.want, changed)
		}
		if again := l.Mend(start, week); len(again) > 0 {
			t.Errorf("%s is changed twice", name)
		}
	}
}

// An offence that was told while the clock was ahead has nobody banned until then.
func TestClockThatWasAheadMakesNoNextBanLonger(t *testing.T) {
	ahead := start.AddDate(5, 0, 0)
	var o Offences
	records := map[netip.Prefix]Record{
		one: {Count: 3, Since: ahead, Until: ahead.Add(2 * time.Hour)}, other: {Count: 1, Until: ahead}, wide: {Count: 1, Since: start.Add(-2), Until: start.Add(-1)},
	}
	if over := o.Load(start, time.Hour, records); len(over) > 0 {
		t.Fatal(over)
	}
	if changed := o.Mend(start, week); len(changed) != 2 || slices.Contains(changed, wide) {
		t.Errorf("changed are %v", changed)
	}
	lasts := func(int) time.Duration { return time.Minute }
	for p, want := range map[netip.Prefix]time.Duration{one: 2 * time.Hour, other: week, wide: time.Minute} {
		if r := o.Next(start, p, time.Hour, lasts); !r.Until.Equal(start.Add(want)) {
			t.Errorf("the next ban of %s lasts %s, want %s", p, r.Until.Sub(start), want)
		}
	}
}

// A clock that is set while bans are in force takes those along that began by it, whether
// it was ahead or behind, and leaves the others.
func TestBansMoveWithTheClock(t *testing.T) {
	for _, by := range []time.Duration{-5 * 365 * 24 * time.Hour, 40 * 365 * 24 * time.Hour, -leastStep} {
		var c Clock
		var l List
		var o Offences
		l.Put([]Ban{{Prefix: wide, Since: start.Add(-1), Until: start.Add(time.Hour), Offence: 1}, {Prefix: one, Since: start, Until: start.Add(time.Hour), Offence: 1}, {Prefix: other, Since: start}})
		o.Put(start, week, map[netip.Prefix]Record{one: {1, start.Add(time.Hour), start}, wide: {1, start.Add(time.Hour), start.Add(-1)}})
		wall, up := start, time.Hour
		pass := func(d, step time.Duration) (time.Time, time.Duration) {
			wall, up = wall.Add(d+step), up+d
			return c.Look(wall, up)
		}
		for _, slew := range []time.Duration{0, time.Second, -time.Second, leastStep - 1} {
			if _, step := pass(time.Minute, slew); step != 0 {
				t.Fatalf("a clock that runs faster by %s was set", slew)
			}
			wall = wall.Add(-slew) // which is slower by as much
			if _, step := pass(time.Minute, 0); step != 0 {
				t.Fatalf("a clock that runs slower by %s was set", slew)
			}
		}
		c = Clock{}
		wall = start
		if from, step := pass(0, 0); step != 0 || !from.Equal(start) {
			t.Fatalf("the first look: %s, by %s", from, step)
		}
		from, step := pass(time.Minute, by)
		if !from.Equal(start) || step != by {
			t.Fatalf("set by %s from %s on, want %s from %s on", step, from, by, start)
		}
		if changed := l.Shift(from, step); len(changed) != 2 {
			t.Errorf("changed are %v", changed)
		}
		if changed := o.Shift(from, step); !slices.Equal(changed, []netip.Prefix{one}) {
			t.Errorf("changed offenders are %v", changed)
		}
		moved, _ := l.Get(one)
		stays, _ := l.Get(wide)
		forever, _ := l.Get(other)
		if !moved.Until.Equal(start.Add(by+time.Hour)) || !moved.Since.Equal(start.Add(by)) || !stays.Until.Equal(start.Add(time.Hour)) || !forever.Until.IsZero() {
			t.Errorf("by %s: %+v, %+v, %+v", by, moved, stays, forever)
		}
		if r, _ := o.Get(one); !r.Until.Equal(moved.Until) || !r.Since.Equal(moved.Since) {
			t.Errorf("by %s: %+v", by, r)
		}
		if from, step := pass(time.Minute, 0); step != 0 || !from.Equal(start.Add(by)) {
			t.Errorf("after it: set by %s from %s on", step, from)
		}
	}
}
