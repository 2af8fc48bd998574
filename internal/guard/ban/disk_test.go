package ban

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// While the disk takes nothing attackers are banned even so, bans by hand are refused, and
// all that is in force is on the disk once it works again.
func TestFullDiskStopsNoBan(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(time.Hour, "203.0.113.1")
	o.must(o.add("203.0.113.2/32", 60))
	o.fullDisk(func() {
		for _, a := range []string{"203.0.113.3", "203.0.113.4", "203.0.113.5", "203.0.113.6"} {
			if n := o.offend(time.Hour, a); n != 1 {
				t.Errorf("%s: %d bans", a, n)
			}
		}
		if got := o.dropped("203.0.113.3", "203.0.113.4", "203.0.113.5", "203.0.113.6"); len(got) != 4 {
			t.Errorf("dropped are just %v", got)
		}
		o.must(o.follow())
		if got := o.warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "8 changes of bans are in force but not on the disk") {
			t.Errorf("the status says %q", got)
		}
		if err := o.add("203.0.113.7/32", 60); err == nil {
			t.Error("a ban by hand was made that is not on the disk")
		}
		if _, err := o.remove("203.0.113.1/32"); err == nil {
			t.Error("a ban ended that is on the disk")
		}
		// What the disk has nothing of ends, by hand and by itself.
		if done, err := o.remove("203.0.113.3/32"); err != nil || done.Prefixes != 1 {
			t.Errorf("removed: %+v, %v", done, err)
		}
		o.list.Put([]Ban{{Prefix: netip.MustParsePrefix("203.0.113.4/32"), Until: time.Now(), Offence: 1}})
		o.must(o.follow())
		if got := o.dropped("203.0.113.3", "203.0.113.4"); len(got) != 0 {
			t.Errorf("dropped are %v", got)
		}
	})
	o.must(o.follow())
	if got := o.warnings(); len(got) > 0 || o.unsaved.count() > 0 {
		t.Errorf("the status says %q, and %d are not written", got, o.unsaved.count())
	}
	for said, want := range map[string]int{"bans not stored": 1, "bans stored again": 1} {
		if n := strings.Count(o.log.String(), said); n != want {
			t.Errorf("the log says %d times %q: %s", n, said, o.log.String())
		}
	}
	o.restart()
	o.want("on the disk are", "203.0.113.1/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.113.2/32 0s manual",
		"203.0.113.5/32 1h0m0s jail ssh: 5 failures, offence 1", "203.0.113.6/32 1h0m0s jail ssh: 5 failures, offence 1")
	if _, known := o.records()[netip.MustParsePrefix("203.0.113.3/32")]; known {
		t.Error("who was forgiven is remembered")
	}
}

// Bans that are over and cannot be taken off the disk stop no start, and are taken off
// later; entries that nobody can read do neither, and stay.
func TestStartWithADiskThatTakesNothing(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(time.Hour, "203.0.113.1")
	o.must(o.store.Change(bansBucket, map[string][]byte{
		"203.0.113.2/32": []byte(`{"since":"2020-01-02T15:04:05Z","until":"2020-01-02T16:04:05Z","reason":"manual"}`),
		"203.0.113.3/32": []byte(`{"since":`), "nobody": []byte(`{}`), "203.0.113.9/24": []byte(`{}`),
	}, nil))
	o.reopen()
	ended, err := o.read()
	if o.must(err); len(ended) != 1 {
		t.Errorf("over are %v", ended)
	}
	o.fullDisk(o.save)
	if got := o.warnings(); len(got) != 1 {
		t.Errorf("the status says %q", got)
	}
	o.restart()
	o.want("banned are", "203.0.113.1/32 1h0m0s jail ssh: 5 failures, offence 1")
	if n := strings.Count(o.log.String(), "of=bans entries=3"); n != 2 {
		t.Errorf("the log says %s", o.log.String())
	}
	if left := o.all(bansBucket).Remove; len(left) != 4 {
		t.Errorf("on the disk are %q", left)
	}
}
