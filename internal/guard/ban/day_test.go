package ban

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// What was kept while the clock was years ahead lasts no longer than it would have, also
// after another restart, and nobody is banned until then.
func TestBansOfAClockThatWasAhead(t *testing.T) {
	o := newOffended(t, Rules{})
	ahead := time.Now().AddDate(5, 0, 0).UTC()
	text := func(more string, from, until time.Time) []byte {
		return fmt.Appendf(nil, `{"since":%q,"until":%q,%s}`, from.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano), more)
	}
	o.must(o.store.Change(bansBucket, map[string][]byte{
		"203.0.113.1/32": text(`"reason":"jail","offence":1`, ahead, ahead.Add(2*time.Hour)),
		"203.0.113.2/32": text(`"reason":"jail","offence":1`, time.Now().Add(-time.Hour), ahead),
		"203.0.113.3/32": text(`"reason":"manual"`, ahead, ahead.Add(2*time.Hour)),
	}, nil))
	o.must(o.store.Change(offencesBucket, map[string][]byte{"203.0.113.4/32": text(`"count":1`, ahead, ahead.Add(2*time.Hour))}, nil))
	for range 2 {
		o.restart()
		o.want("banned are", "203.0.113.1/32 2h0m0s jail", "203.0.113.2/32 168h0m0s jail", "203.0.113.3/32 2h0m0s manual")
	}
	o.offend(time.Minute, "203.0.113.4")
	if b, _ := o.list.Get(netip.MustParsePrefix("203.0.113.4/32")); time.Until(b.Until) > 2*time.Hour {
		t.Errorf("the next ban lasts until %s", b.Until)
	}
}

// Bans end by the clock of the day, which goes on while the machine sleeps, and move with it
// when it is set; the disk hears of it.
func TestBansAreOfTheClockOfTheDay(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(48*time.Hour, "203.0.113.1")
	o.must(o.add("203.0.113.2/32", 60))
	for _, b := range o.list.All() {
		if b.Since != b.Since.Round(0) || b.Until != b.Until.Round(0) {
			t.Errorf("%s has readings of another clock", b.Prefix)
		}
	}
	o.mutex.Lock()
	o.move(o.started, -24*time.Hour)
	o.mutex.Unlock()
	o.must(o.follow())
	if got := o.dropped("203.0.113.1", "203.0.113.2"); len(got) != 1 {
		t.Errorf("dropped are %v", got)
	}
	o.restart()
	o.want("a day later banned are", "203.0.113.1/32 24h0m0s jail ssh: 5 failures, offence 1")
}
