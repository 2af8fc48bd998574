package ban

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// Who removes the ban of a subnet forgives all in it, and nobody else.
func TestRemovedPrefixIsForgivenWhole(t *testing.T) {
	o := newOffended(t, Rules{Subnet: 2})
	o.offend(time.Hour, "203.0.113.1", "203.0.113.2", "203.0.114.1", "2001:db8:1::1", "2001:db8:2::1")
	done, err := o.remove("203.0.113.0/24", "2001:db8:1::/48")
	if o.must(err); done.Prefixes != 1 {
		t.Errorf("%+v", done)
	}
	left := o.records()
	for p, want := range map[string]bool{"203.0.113.1/32": false, "203.0.113.2/32": false, "203.0.114.1/32": true, "2001:db8:1::/64": false, "2001:db8:2::/64": true} {
		if _, known := left[netip.MustParsePrefix(p)]; known != want {
			t.Errorf("the offences of %s are known: %t", p, known)
		}
	}
	if in := o.offences.Within([]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}); len(in) > 0 {
		t.Errorf("of %v they are known until a restart", in)
	}
}

// A removal that ended nothing says which ban has the address.
func TestRemovalNamesTheWiderBan(t *testing.T) {
	o := newOffended(t, Rules{Subnet: 2})
	o.offend(time.Hour, "2001:db8:9::5", "203.0.113.1", "203.0.113.2", "203.0.114.1")
	for asked, want := range map[string]string{
		"2001:db8:9::5/128": "{0 [2001:db8:9::/64] []}", "203.0.113.1/32": "{0 [203.0.113.0/24] []}", "203.0.113.99/32": "{0 [203.0.113.0/24] []}",
		"203.0.115.1/32": "{0 [] []}", "203.0.114.1/32": "{1 [] []}",
	} {
		if done, err := o.remove(asked); err != nil || fmt.Sprint(done) != want {
			t.Errorf("%s: %v, %v, want %s", asked, done, err, want)
		}
	}
	if done, err := o.remove("203.0.113.1/32", "203.0.113.2/32", "203.0.113.0/24"); err != nil || fmt.Sprint(done) != "{1 [] []}" {
		t.Errorf("all of them: %v, %v", done, err)
	}
}

// Who bans for a short while takes nothing from a ban that lasts, whoever made it, and hears of it.
func TestShorterBanTakesNothing(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(time.Hour, "203.0.113.1")
	o.must(o.add("203.0.113.2/32", 0))
	o.must(o.add("203.0.113.4/32", 10))
	before := o.list.All()
	ask := func(seconds float64, prefixes ...string) (made int, longer []string) {
		t.Helper()
		r := api.BanRequest{Seconds: seconds}
		for _, p := range prefixes {
			r.Prefixes = append(r.Prefixes, netip.MustParsePrefix(p))
		}
		done, err := o.AddBans(r)
		o.must(err)
		for _, b := range done.Longer {
			longer = append(longer, b.Prefix.String()+" "+b.Reason)
		}
		return done.Prefixes, longer
	}
	made, longer := ask(60, "203.0.113.1/32", "203.0.113.2/32")
	if want := []string{"203.0.113.1/32 jail ssh: 5 failures, offence 1", "203.0.113.2/32 manual"}; made != 0 || !slices.Equal(longer, want) {
		t.Errorf("%d are banned, and longer are %q, not %q", made, longer, want)
	}
	for _, b := range before {
		if now, _ := o.list.Get(b.Prefix); now != b {
			t.Errorf("%+v was banned for longer, and became %+v", b, now)
		}
	}
	if made, longer = ask(60, "203.0.113.2/32", "203.0.113.3/32", "203.0.113.4/32"); made != 2 || len(longer) != 1 {
		t.Errorf("of one that is, one that is not and one that is for less, %d are banned, and longer are %q", made, longer)
	}
	o.must(o.add("198.51.100.0/24", 3600))
	if made, longer = ask(60, "198.51.100.7/32"); made != 1 || !slices.Equal(longer, []string{"198.51.100.0/24 manual"}) {
		t.Errorf("inside a wider one that holds longer: %d, %q", made, longer)
	}
	if made, longer = ask(0, "203.0.113.1/32", "203.0.113.2/32"); made != 2 || longer != nil {
		t.Errorf("for ever: %d, %q", made, longer)
	}
	if b, _ := o.list.Get(netip.MustParsePrefix("203.0.113.1/32")); !b.Until.IsZero() {
		t.Errorf("a longer one does not last: %+v", b)
	}
}

// What the kernel refused of a removal, or of the end of a ban, is repeated, and a repeated
// command mends it as well.
func TestRemovalThatTheKernelRefusedIsRepeated(t *testing.T) {
	o := newOffended(t, Rules{})
	prefixes := []string{"203.0.113.1/32", "2001:db8::/64"}
	refused := func() {
		t.Helper()
		o.offend(time.Hour, "203.0.113.1", "2001:db8::1")
		o.without(func() {
			if _, err := o.remove(prefixes...); err == nil || !strings.Contains(err.Error(), "tried again") {
				t.Errorf("the kernel refused, and the answer is %v", err)
			}
		})
		if got := o.dropped("203.0.113.1", "2001:db8::1"); len(got) != 2 {
			t.Fatalf("dropped are %v: the kernel did not refuse", got)
		}
	}
	mended := func(what string) {
		t.Helper()
		if got := o.dropped("203.0.113.1", "2001:db8::1"); len(got) > 0 || len(o.listed()) > 0 {
			t.Errorf("after %s %v are dropped", what, got)
		}
	}
	refused()
	o.must(o.follow())
	mended("a while")
	refused()
	_, err := o.remove(prefixes...)
	o.must(err)
	mended("a second command")

	o.offend(time.Hour, "203.0.113.1")
	o.list.Put([]Ban{{Prefix: netip.MustParsePrefix(prefixes[0]), Until: time.Now()}})
	o.without(func() {
		if err := o.follow(); err == nil {
			t.Error("the kernel did not refuse")
		}
	})
	o.must(o.follow())
	mended("the end of its ban")
}

// Where offenders fill the list, the next is banned even so, and so is who is banned by
// hand; the kernel lets those pass again who gave way.
func TestEvictedBansEnd(t *testing.T) {
	o := newOffended(t, Rules{})
	o.offend(time.Hour, "203.0.113.1", "2001:db8::1")
	o.must(o.add("2001:db8::2/128", 60))
	later := time.Now().Add(2 * time.Hour)
	for i := range MostAutomatic - 2 {
		p := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 2, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i)}), 64)
		o.list.Put([]Ban{{Prefix: p, Until: later, Offence: 1}})
	}
	o.offend(3*time.Hour, "203.0.113.2")
	if got := o.dropped("203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2"); !slices.Equal(got, []string{"203.0.113.2", "2001:db8::2"}) {
		t.Errorf("dropped are %v", got)
	}
	if n := len(o.list.All()); n != MostAutomatic*15/16+2 {
		t.Errorf("there are %d bans", n)
	}
	if said := o.log.String(); strings.Count(said, "too many bans") != 1 {
		t.Errorf("the log says %s", said)
	}
	o.restart()
	o.want("on the disk are", "2001:db8::2/128 0s manual", "203.0.113.2/32 3h0m0s jail ssh: 5 failures, offence 1")
}
