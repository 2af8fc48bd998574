package ban

import (
	"math"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// An offender is banned for its time, or longer where a ban lasts longer; and why is known
// after a restart too, but for bans that were kept before reasons were.
func TestOffenderIsBanned(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(time.Minute, "203.0.113.7")
	o.offend(time.Hour, "203.0.113.7")
	o.offend(48*time.Hour, "203.0.113.8")
	o.offend(time.Hour, "203.0.113.8")
	o.must(o.store.Change(bansBucket, map[string][]byte{"203.0.113.9/32": []byte(`{"since":"2026-01-02T15:04:05Z"}`)}, nil))
	o.restart()
	o.want("banned are", "203.0.113.7/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.113.8/32 48h0m0s jail ssh: 5 failures, offence 1", "203.0.113.9/32 for ever ")
}

// The fault of ipt_geofence: an offender's count was forgotten when its ban was over, and by
// a restart.
func TestOffencesAreCountedAcrossRestarts(t *testing.T) {
	o := newOffended(t, Rules{Growth: Growth{Factor: 3, Cap: 24 * time.Hour}})
	offender := netip.MustParsePrefix("203.0.113.7/32")
	for n := 1; n <= 4; n++ {
		o.offend(time.Millisecond, "203.0.113.7")
		r := o.records()[offender]
		if want := time.Millisecond * time.Duration(math.Pow(3, float64(n-1))); r.Count != n || time.Until(r.Until) > want {
			t.Fatalf("offence %d until in %v, want %d until in %v", r.Count, time.Until(r.Until), n, want)
		}
		for time.Now().Before(r.Until) {
			runtime.Gosched() // some milliseconds
		}
		o.must(o.follow())
		o.restart()
	}
	o.offend(time.Hour, "203.0.113.7")
	o.want("the fifth ban is", "203.0.113.7/32 24h0m0s jail ssh: 5 failures, offence 5")
	o.restart()
	o.want("after a restart it is", "203.0.113.7/32 24h0m0s jail ssh: 5 failures, offence 5")
	_, err := o.remove("203.0.113.7/32")
	o.must(err)
	if _, known := o.records()[offender]; known {
		t.Error("who was forgiven is remembered")
	}
	o.restart()
	o.offend(time.Hour, "203.0.113.7")
	o.want("after a pardon it is", "203.0.113.7/32 1h0m0s jail ssh: 5 failures, offence 1")
}

// With enough of its addresses a subnet is banned, but for who is in it; a ban by hand
// stays beside it and does not count.
func TestSubnetIsBanned(t *testing.T) {
	o := newOffended(t, Rules{Subnet: 3})
	o.exempt[netip.MustParsePrefix("203.0.114.200/32")] = "ignoreip has it"
	o.must(o.add("203.0.113.1/32", 0))
	o.offend(2*time.Hour, "203.0.113.7")
	o.offend(time.Hour, "203.0.113.8", "203.0.114.8", "203.0.114.9", "203.0.115.1")
	o.want("before the third", "203.0.113.1/32 for ever manual", "203.0.113.7/32 2h0m0s jail ssh: 5 failures, offence 1",
		"203.0.113.8/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.114.8/32 1h0m0s jail ssh: 5 failures, offence 1",
		"203.0.114.9/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.115.1/32 1h0m0s jail ssh: 5 failures, offence 1")
	o.offend(time.Hour, "203.0.113.9", "203.0.114.10")
	want := []string{
		"203.0.113.0/24 2h0m0s 3 addresses of it were banned, the last: jail ssh: 5 failures, offence 1", "203.0.113.1/32 for ever manual",
		"203.0.114.10/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.114.8/32 1h0m0s jail ssh: 5 failures, offence 1",
		"203.0.114.9/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.115.1/32 1h0m0s jail ssh: 5 failures, offence 1",
	}
	o.want("with the third", want...)
	o.offend(time.Hour, "203.0.113.10")
	o.restart()
	o.want("after another and a restart", want...)
	for a, want := range map[string]bool{"203.0.113.99": true, "203.0.114.99": false, "203.0.114.10": true} {
		if banned := len(o.dropped(a)) > 0; banned != want {
			t.Errorf("%s is banned: %t", a, banned)
		}
	}
}
