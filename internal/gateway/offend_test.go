package gateway

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/store"
)

// offender is a gateway that somebody offends.
type offended struct {
	*rig
	log strings.Builder
}

func newOffended(t *testing.T, more string) *offended {
	t.Helper()
	o := &offended{rig: newRig(t, text+more)}
	o.rig.log = slog.New(slog.NewTextHandler(&o.log, nil))
	return o
}

// all removes everything of a bucket.
func (o *offended) all(bucket string) store.Edit {
	e := store.Edit{Bucket: bucket}
	o.must(o.store.Each(bucket, func(key string, _ []byte) error { e.Remove = append(e.Remove, key); return nil }))
	return e
}

func (o *offended) offend(lasts time.Duration, addresses ...string) (n int) {
	o.t.Helper()
	list := make([]offence, len(addresses))
	for i, a := range addresses {
		list[i] = offence{netip.MustParseAddr(a), "watch ssh: 5 hits"}
	}
	o.must(o.namespace.Do(func() (err error) { n, err = o.Gateway.offend(list, lasts); return err }))
	return n
}

// records are what is kept of the offenders on the disk.
func (o *offended) records() map[netip.Prefix]keptRecord {
	o.t.Helper()
	all := map[netip.Prefix]keptRecord{}
	o.must(eachKept(o.store, o.rig.log, offencesBucket, func(p netip.Prefix, k keptRecord) { all[p] = k }))
	return all
}

// restart forgets everything that is not on the disk.
func (o *offended) restart() {
	o.t.Helper()
	o.reopen()
	o.must(o.namespace.Do(o.loadBans))
}

// reopen closes the file, opens it as a start does, and forgets the bans.
func (o *offended) reopen() {
	o.t.Helper()
	o.must(o.store.Close())
	var err error
	o.store, err = openStore(o.options.Instance)
	o.must(err)
	o.bans = bans{} //nolint:govet // nobody else uses it
}

// listed are the bans, with the hours that are left.
func (o *offended) listed() (list []string) {
	o.t.Helper()
	bans, err := o.Bans()
	o.must(err)
	for _, b := range bans {
		left := "for ever"
		if !b.Until.IsZero() {
			left = time.Until(b.Until).Round(time.Hour).String()
		}
		list = append(list, fmt.Sprintf("%s %s %s", b.Prefix, left, b.Reason))
	}
	slices.Sort(list)
	return list
}

func (o *offended) want(what string, want ...string) {
	o.t.Helper()
	if got := o.listed(); !slices.Equal(got, want) {
		o.t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An offender is banned for its time, or longer where a ban lasts longer; and why is known
// after a restart too, but for bans that were kept before reasons were.
func TestOffenderIsBanned(t *testing.T) {
	o := newOffended(t, "")
	o.offend(time.Minute, "203.0.113.7")
	o.offend(time.Hour, "203.0.113.7")
	o.offend(48*time.Hour, "203.0.113.8")
	o.offend(time.Hour, "203.0.113.8")
	o.must(o.store.Change(bansBucket, map[string][]byte{"203.0.113.9/32": []byte(`{"since":"2026-01-02T15:04:05Z"}`)}, nil))
	o.restart()
	o.want("banned are", "203.0.113.7/32 1h0m0s watch ssh: 5 hits, offence 1", "203.0.113.8/32 48h0m0s watch ssh: 5 hits, offence 1", "203.0.113.9/32 for ever ")
}

// Of a batch all are banned who may be; of the others the log tells once.
func TestOffendersWhoMayNotBeBannedAreSkipped(t *testing.T) {
	o := newOffended(t, "never_ban: [203.0.113.64/26, \"2001:db8:1::7\"]\nprotection: {allowlist: [203.0.113.9]}\n")
	batch := []string{
		"203.0.113.7", "10.0.0.100", "203.0.113.65", "2001:db8::7", "2001:db8::8", "203.0.113.9", "198.18.0.1", "fe80::1%eth0", "::1",
		"2001:db8:1::8", "2001:db8:1::7", "203.0.113.7",
	}
	first, again := o.offend(time.Hour, batch...), o.offend(time.Minute, batch...)
	if first != 3 || again != 0 {
		t.Errorf("%d bans, and again %d: want 3 and none", first, again)
	}
	o.want("banned are", "2001:db8:1::8/128 1h0m0s watch ssh: 5 hits, offence 1",
		"2001:db8::/64 1h0m0s watch ssh: 5 hits, offence 1, by 2001:db8::7", "203.0.113.7/32 1h0m0s watch ssh: 5 hits, offence 1")
	for _, said := range []string{"never_ban has it", "203.0.113.9/32 cannot", "a private host's", "the gateway's own", "link-local", "no packet of others"} {
		if n := strings.Count(o.log.String(), said); said != "never_ban has it" && n != 1 || n == 0 {
			t.Errorf("the log says %d times %q: %s", n, said, o.log.String())
		}
	}
}

// The fault of ipt_geofence: an offender's count was forgotten when its ban was over, and by
// a restart.
func TestOffencesAreCountedAcrossRestarts(t *testing.T) {
	o := newOffended(t, "bans: {factor: 3, cap: 24h}\n")
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
		o.must(o.namespace.Do(o.followBans))
		o.restart()
	}
	o.offend(time.Hour, "203.0.113.7")
	o.want("the fifth ban is", "203.0.113.7/32 24h0m0s watch ssh: 5 hits, offence 5")
	o.restart()
	o.want("after a restart it is", "203.0.113.7/32 24h0m0s watch ssh: 5 hits, offence 5")
	request := api.BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}}
	o.must(o.namespace.Do(func() error { _, err := o.RemoveBans(request); return err }))
	if _, known := o.records()[offender]; known {
		t.Error("who was forgiven is remembered")
	}
	o.restart()
	o.offend(time.Hour, "203.0.113.7")
	o.want("after a pardon it is", "203.0.113.7/32 1h0m0s watch ssh: 5 hits, offence 1")
}

// With enough of its addresses a subnet is banned, but for who is in it; a ban by hand
// stays beside it and does not count.
func TestSubnetIsBanned(t *testing.T) {
	o := newOffended(t, "bans: {subnet: 3}\nnever_ban: [203.0.114.200]\n")
	byHand := api.BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32")}}
	o.must(o.namespace.Do(func() error { _, err := o.AddBans(byHand); return err }))
	o.offend(2*time.Hour, "203.0.113.7")
	o.offend(time.Hour, "203.0.113.8", "203.0.114.8", "203.0.114.9", "203.0.115.1")
	o.want("before the third", "203.0.113.1/32 for ever manual", "203.0.113.7/32 2h0m0s watch ssh: 5 hits, offence 1",
		"203.0.113.8/32 1h0m0s watch ssh: 5 hits, offence 1", "203.0.114.8/32 1h0m0s watch ssh: 5 hits, offence 1",
		"203.0.114.9/32 1h0m0s watch ssh: 5 hits, offence 1", "203.0.115.1/32 1h0m0s watch ssh: 5 hits, offence 1")
	o.offend(time.Hour, "203.0.113.9", "203.0.114.10")
	want := []string{
		"203.0.113.0/24 2h0m0s 3 addresses of it were banned, the last: watch ssh: 5 hits, offence 1", "203.0.113.1/32 for ever manual",
		"203.0.114.10/32 1h0m0s watch ssh: 5 hits, offence 1", "203.0.114.8/32 1h0m0s watch ssh: 5 hits, offence 1",
		"203.0.114.9/32 1h0m0s watch ssh: 5 hits, offence 1", "203.0.115.1/32 1h0m0s watch ssh: 5 hits, offence 1",
	}
	o.want("with the third", want...)
	o.offend(time.Hour, "203.0.113.10")
	o.restart()
	o.want("after another and a restart", want...)
	for a, want := range map[string]bool{"203.0.113.99": true, "203.0.114.99": false, "203.0.114.10": true} {
		if banned, err := o.data.IsBanned(netip.MustParseAddr(a)); err != nil || banned != want {
			t.Errorf("%s is banned: %t, %v", a, banned, err)
		}
	}
}
