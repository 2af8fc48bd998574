package gateway

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
)

// offended is a gateway that somebody offends.
type offended struct {
	*rig
	log strings.Builder
}

func newOffended(t *testing.T, more string) *offended {
	t.Helper()
	o := &offended{}
	o.rig = newTellingRig(t, text+more, slog.New(slog.NewTextHandler(&o.log, nil)))
	return o
}

func (o *offended) offend(lasts time.Duration, addresses ...string) (n int) {
	o.t.Helper()
	list := make([]ban.Offence, len(addresses))
	for i, a := range addresses {
		list[i] = ban.Offence{Address: netip.MustParseAddr(a), Reason: "watch ssh: 5 hits"}
	}
	o.must(o.namespace.Do(func() (err error) { n, err = o.bans.Offend(list, lasts); return err }))
	return n
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
	o.must(o.store.Each("offences", func(offender string, _ []byte) error {
		t.Errorf("an offender is %s", offender)
		return nil
	}))
}

// Those who wait at a stop are banned before the file is closed.
func TestTrappedAtAStopAreBanned(t *testing.T) {
	o := newOffended(t, "protection: {honeypot: {tcp: [23, 24], ban: 1h}}\n")
	o.trapped.close() // as runTraps does, which has put one more
	o.trapped.waiting[netip.MustParsePrefix("203.0.113.1/32")] = ban.Offence{Address: netip.MustParseAddr("203.0.113.1"), Reason: "honeypot: tcp port 23"}
	o.must(o.namespace.Do(func() error { o.runBanTrapped(); return nil }))
	o.restart(false, "")
	o.want("banned are", "203.0.113.1/32 1h0m0s honeypot: tcp port 23, offence 1")
}

// A file that is damaged is told from one that another daemon uses, with what to do.
func TestStartWithADamagedFile(t *testing.T) {
	o := newOffended(t, "")
	o.offend(time.Hour, "203.0.113.1")
	o.must(o.store.Close())
	path := statePath(o.options.Instance)
	whole, err := os.ReadFile(path)
	o.must(err)
	o.must(os.WriteFile(path, whole[:5000], 0o600))
	open := func() error { return fileFault(o.options.Instance, errorOf(openStore(o.options.Instance))) }
	if err := open(); err == nil || !strings.HasPrefix(err.Error(), "move "+path+" away to start without its bans") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the start says %v", err)
	}
	o.must(os.WriteFile(path, whole, 0o600))
	o.restart(false, "")
	if err := open(); err == nil || !strings.HasPrefix(err.Error(), "end the other daemon") {
		t.Errorf("a second one says %v", err)
	}
}

func errorOf(_ any, err error) error { return err }
