package jail

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

var start = time.Unix(1_800_000_000, 0)

// naive keeps every failure for ever.
type naive struct {
	failures int
	within   time.Duration
	all      map[netip.Addr][]time.Time
}

func (n *naive) failure(now time.Time, a netip.Addr) (first time.Time, offends bool) {
	n.all[a] = append(n.all[a], now)
	inside := slices.DeleteFunc(slices.Clone(n.all[a]), func(t time.Time) bool { return now.Sub(t) > n.within })
	if len(inside) < n.failures {
		return first, false
	}
	delete(n.all, a)
	return inside[0], true
}

func TestTheWindowSlidesAsANaiveOneDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		failures, within := rapid.IntRange(1, 5).Draw(t, "failures"), time.Duration(rapid.IntRange(1, 20).Draw(t, "within"))
		c, n := newCounter(failures, within, mostOffenders), naive{failures, within, map[netip.Addr][]time.Time{}}
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "later")))
			a := numbered(rapid.IntRange(0, 2).Draw(t, "address"))
			o, offends := c.failure(now, a)
			first, want := n.failure(now, a)
			if offends != want {
				t.Fatalf("offends: %v, want %v", offends, want)
			}
			if offends && (o.Address != a || o.Count != failures || !o.First.Equal(first) || !o.Last.Equal(now)) {
				t.Fatalf("%+v, want %d failures from %v to %v", o, failures, first, now)
			}
			checkCounter(t, c)
		}
		if c.forgotten != 0 {
			t.Fatalf("%d forgotten", c.forgotten)
		}
	})
}

// checkCounter compares what the counter keeps in several ways.
func checkCounter(t interface{ Fatalf(string, ...any) }, c *counter) {
	listed, times := 0, 0
	for a := c.oldest; a != nil; a = a.newer {
		listed++
		times += len(a.times)
		if c.offenders[a.unit] != a || len(a.times) == 0 || len(a.times) >= c.failures || a.newer != nil && a.newer.older != a {
			t.Fatalf("%v is not kept well: %v", a.unit, a.times)
		}
	}
	if listed != len(c.offenders) || times != c.times || listed > c.most || times > c.total {
		t.Fatalf("%d offenders in order, %d by unit, at most %d; %d failures, %d counted", listed, len(c.offenders), c.most, times, c.times)
	}
}

func numbered(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}) }

func TestTheEndsOfTheWindowAreInIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		apart time.Duration
		want  bool
	}{{0, true}, {time.Minute, true}, {time.Minute + 1, false}, {-time.Hour, true}} {
		count := newCounter(2, time.Minute, 10)
		count.failure(start, numbered(1))
		if _, offends := count.failure(start.Add(c.apart), numbered(1)); offends != c.want {
			t.Errorf("two failures %v apart offend within a minute: %v", c.apart, offends)
		}
	}
}

// A failure of before is one of now, so that it counts as long as others.
func TestAClockThatIsSetBackStandsStill(t *testing.T) {
	t.Parallel()
	c := newCounter(3, time.Minute, 10)
	c.failure(start, numbered(1))
	c.failure(start.Add(-time.Hour), numbered(1))
	if o, offends := c.failure(start.Add(time.Minute), numbered(1)); !offends || !o.First.Equal(start) {
		t.Errorf("%+v, %v", o, offends)
	}
	checkCounter(t, c)
}

func TestAfterAnOffenceTheCountBeginsAnew(t *testing.T) {
	t.Parallel()
	c, got := newCounter(3, time.Minute, 10), ""
	for i := range 7 {
		_, offends := c.failure(start.Add(time.Duration(i)), numbered(1))
		got += fmt.Sprint(offends, " ")
	}
	if want := "false false true false false true false "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestThoseIdleLongestAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCounter(3, time.Minute, 3)
	for _, i := range []int{1, 2, 3, 1, 4} { // 4 takes the place of 2
		c.failure(start, numbered(i))
	}
	if c.forgotten != 1 || c.offenders[model.OffenderOf(numbered(2))] != nil || len(c.offenders) != 3 {
		t.Errorf("%d forgotten, %v left", c.forgotten, c.offenders)
	}
	if _, offends := c.failure(start, numbered(1)); !offends {
		t.Error("the failures of one that is left are lost")
	}
	checkCounter(t, c)
}

func TestWhatNoLongerCountsTakesNoPlace(t *testing.T) {
	t.Parallel()
	c := newCounter(2, time.Minute, 3)
	for i := range 100 {
		c.failure(start.Add(time.Duration(i)*time.Minute), numbered(i))
	}
	if c.forgotten != 0 || len(c.offenders) != 2 {
		t.Errorf("%d forgotten, %d left", c.forgotten, len(c.offenders))
	}
}

func TestTheHitsOfAllOffendersAreBounded(t *testing.T) {
	t.Parallel()
	c := newCounter(5, time.Minute, mostOffenders)
	c.total = 10
	for i := range 4 {
		for range 4 {
			c.failure(start, numbered(i))
			checkCounter(t, c)
		}
	}
	if c.forgotten != 2 || c.offenders[model.OffenderOf(numbered(2))] == nil || c.offenders[model.OffenderOf(numbered(3))] == nil {
		t.Errorf("%d forgotten, %v left", c.forgotten, c.offenders)
	}
}

// Who owns a /64 can take another address of it for each attempt.
func TestHitsOfIPv6AreCountedByTheLink(t *testing.T) {
	t.Parallel()
	c := newCounter(5, time.Minute, 3)
	for i := 1; i <= 5; i++ {
		other := netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::7", i))
		a := netip.MustParseAddr(fmt.Sprintf("2001:db8::%x:0:0:%x", i, i))
		if i < 3 {
			if o, offends := c.failure(start, other); offends {
				t.Errorf("one failure of another link is %+v", o)
			}
		}
		o, offends := c.failure(start, a)
		if offends != (i == 5) || offends && (o.Address != a || o.Count != 5) {
			t.Errorf("failure %d, of %s: %v, %+v", i, a, offends, o)
		}
		checkCounter(t, c)
	}
	if c.forgotten != 0 || len(c.offenders) != 2 {
		t.Errorf("%d forgotten, %v left", c.forgotten, c.offenders)
	}
}

func TestHitsOfIPv4AreCountedByTheAddress(t *testing.T) {
	t.Parallel()
	c := newCounter(2, time.Minute, 1000)
	for i := range 300 {
		if o, offends := c.failure(start, numbered(i)); offends {
			t.Fatalf("one failure is %+v", o)
		}
	}
}
