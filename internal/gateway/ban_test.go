package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/protect/ban"
)

// remove ends bans as realmgate ban remove does.
func (o *offended) remove(prefixes ...string) (done api.BanChange, err error) {
	o.t.Helper()
	var r api.BanRequest
	for _, p := range prefixes {
		r.Prefixes = append(r.Prefixes, netip.MustParsePrefix(p))
	}
	err = o.namespace.Do(func() (err error) { done, err = o.RemoveBans(r); return err })
	return done, err
}

// Who removes the ban of a subnet forgives all in it, and nobody else.
func TestRemovedPrefixIsForgivenWhole(t *testing.T) {
	o := newOffended(t, "bans: {subnet: 2}\n")
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
	if in := o.bans.offences.Within([]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}); len(in) > 0 {
		t.Errorf("of %v they are known until a restart", in)
	}
}

// A removal that ended nothing says which ban has the address.
func TestRemovalNamesTheWiderBan(t *testing.T) {
	o := newOffended(t, "bans: {subnet: 2}\n")
	o.offend(time.Hour, "2001:db8:9::5", "203.0.113.1", "203.0.113.2", "203.0.114.1")
	for asked, want := range map[string]string{
		"2001:db8:9::5/128": "{0 [2001:db8:9::/64]}", "203.0.113.1/32": "{0 [203.0.113.0/24]}", "203.0.113.99/32": "{0 [203.0.113.0/24]}",
		"203.0.115.1/32": "{0 []}", "203.0.114.1/32": "{1 []}",
	} {
		if done, err := o.remove(asked); err != nil || fmt.Sprint(done) != want {
			t.Errorf("%s: %v, %v, want %s", asked, done, err, want)
		}
	}
	if done, err := o.remove("203.0.113.1/32", "203.0.113.2/32", "203.0.113.0/24"); err != nil || fmt.Sprint(done) != "{1 []}" {
		t.Errorf("all of them: %v, %v", done, err)
	}
}

// without has the kernel refuse everything while do runs.
func (o *offended) without(do func()) {
	o.t.Helper()
	closed, err := datapath.Open(datapath.Options{Capacity: model.MinCapacity, Outbound: []netip.Addr{netip.MustParseAddr("198.18.0.1")}})
	o.must(err)
	o.must(closed.Close(false))
	before := o.data
	o.data = closed
	do()
	o.data = before
}

// What the kernel refused of a removal, or of the end of a ban, is repeated, and a repeated
// command mends it as well.
func TestRemovalThatTheKernelRefusedIsRepeated(t *testing.T) {
	o := newOffended(t, "")
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
	o.must(o.namespace.Do(o.followBans))
	mended("a while")
	refused()
	_, err := o.remove(prefixes...)
	o.must(err)
	mended("a second command")

	o.offend(time.Hour, "203.0.113.1")
	o.bans.list.Put([]ban.Ban{{Prefix: netip.MustParsePrefix(prefixes[0]), Until: time.Now()}})
	o.without(func() {
		if err := o.followBans(); err == nil {
			t.Error("the kernel did not refuse")
		}
	})
	o.must(o.namespace.Do(o.followBans))
	mended("the end of its ban")
}

// trap has addresses fall into the honeypot, and bans them.
func (o *offended) trap(addresses ...string) {
	o.t.Helper()
	for i, a := range addresses {
		o.trapped.put(datapath.TrapEvent{Source: netip.MustParseAddr(a), Port: uint16(23 + i%2)})
	}
	o.must(o.namespace.Do(func() error { o.banTrapped(); return nil }))
}

// Those who fell into the honeypot are banned at once, whatever the ports, and each
// offender once, each with his own reason.
func TestTrappedAreBannedAtOnce(t *testing.T) {
	o := newOffended(t, "protection: {honeypot: {tcp: [23, 24], ban: 1h}}\n")
	o.trap("203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2")
	o.want("banned are", "2001:db8::/64 1h0m0s honeypot: tcp port 24, offence 1, by 2001:db8::2",
		"203.0.113.1/32 1h0m0s honeypot: tcp port 23, offence 1", "203.0.113.2/32 1h0m0s honeypot: tcp port 24, offence 1")
	if n := strings.Count(o.log.String(), "msg=banned"); n != 1 {
		t.Errorf("they were banned in %d batches", n)
	}
	for i := range mostTrapped + 1 { // of one link
		o.trapped.put(datapath.TrapEvent{Source: netip.AddrFrom16([16]byte{0x20, 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}), Port: 23})
	}
	if waiting := o.trapped.take(); len(waiting) != 1 {
		t.Errorf("of one link %d wait", len(waiting))
	}
}

// A reload that takes the honeypot away forgives those who are not banned yet.
func TestTrappedWithoutAHoneypotAreNotBanned(t *testing.T) {
	o := newOffended(t, "protection: {honeypot: {tcp: [23]}}\n")
	o.trapped.put(datapath.TrapEvent{Source: netip.MustParseAddr("203.0.113.2"), Port: 23})
	o.must(o.reloadWith(text))
	o.trap("203.0.113.1")
	o.want("banned is nobody")
	if records := o.records(); len(records) > 0 {
		t.Errorf("offenders are %v", records)
	}
}

// Those who wait at a stop are banned before the file is closed.
func TestTrappedAtAStopAreBanned(t *testing.T) {
	o := newOffended(t, "protection: {honeypot: {tcp: [23, 24], ban: 1h}}\n")
	o.trapped.close() // as runTraps does, which has put one more
	o.trapped.waiting[netip.MustParsePrefix("203.0.113.1/32")] = offence{netip.MustParseAddr("203.0.113.1"), "honeypot: tcp port 23"}
	o.must(o.namespace.Do(func() error { o.runBanTrapped(); return nil }))
	o.restart()
	o.want("banned are", "203.0.113.1/32 1h0m0s honeypot: tcp port 23, offence 1")
}

// Where offenders fill the list, the next is banned even so, and so is who is banned by
// hand; the kernel lets those pass again who gave way.
func TestBansThatGiveWayEnd(t *testing.T) {
	o := newOffended(t, "")
	o.offend(time.Hour, "203.0.113.1", "2001:db8::1")
	byHand := api.BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix("2001:db8::2/128")}, Seconds: 60}
	o.must(o.namespace.Do(func() error { _, err := o.AddBans(byHand); return err }))
	later := time.Now().Add(2 * time.Hour)
	for i := range ban.MostAutomatic - 2 {
		p := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 2, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i)}), 64)
		o.bans.list.Put([]ban.Ban{{Prefix: p, Until: later, Offence: 1}})
	}
	o.offend(3*time.Hour, "203.0.113.2")
	if got := o.dropped("203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2"); !slices.Equal(got, []string{"203.0.113.2", "2001:db8::2"}) {
		t.Errorf("dropped are %v", got)
	}
	if n := len(o.bans.list.All()); n != ban.MostAutomatic*15/16+2 {
		t.Errorf("there are %d bans", n)
	}
	if said := o.log.String(); strings.Count(said, "gave way") != 1 {
		t.Errorf("the log says %s", said)
	}
	o.restart()
	o.want("on the disk are", "2001:db8::2/128 0s manual", "203.0.113.2/32 3h0m0s watch ssh: 5 hits, offence 1")
}
