package daemon

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/store"
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
		list[i] = ban.Offence{Address: netip.MustParseAddr(a), Reason: "jail ssh: 5 failures"}
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
	t.Parallel()
	o := newOffended(t, "ignoreip: [203.0.113.64/26, \"2001:db8:1::7\"]\nprotection: {allowlist: [203.0.113.9]}\n")
	batch := []string{
		"203.0.113.7", "10.0.0.100", "203.0.113.65", "2001:db8::7", "2001:db8::8", "203.0.113.9", "198.18.0.1", "fe80::1%eth0", "::1",
		"2001:db8:1::8", "2001:db8:1::7", "203.0.113.7",
	}
	first, again := o.offend(time.Hour, batch...), o.offend(time.Minute, batch...)
	if first != 3 || again != 0 {
		t.Errorf("%d bans, and again %d: want 3 and none", first, again)
	}
	o.want("banned are", "2001:db8:1::8/128 1h0m0s jail ssh: 5 failures, offence 1",
		"2001:db8::/64 1h0m0s jail ssh: 5 failures, offence 1, by 2001:db8::7", "203.0.113.7/32 1h0m0s jail ssh: 5 failures, offence 1")
	for _, said := range []string{"ignoreip has it", "203.0.113.9/32 cannot", "a private host's", "the gateway's own", "link-local", "no packet of others"} {
		if n := strings.Count(o.log.String(), said); said != "ignoreip has it" && n != 1 || n == 0 {
			t.Errorf("the log says %d times %q: %s", n, said, o.log.String())
		}
	}
}

// A start tells a file that is damaged from one that another daemon uses, with what to do.
func TestStartWithADamagedFile(t *testing.T) {
	t.Parallel()
	o := newOffended(t, "")
	o.offend(time.Hour, "203.0.113.1")
	o.must(o.store.Close())
	o.must(o.namespace.Do(func() error { return o.data.Close(false) }))
	path := statePath(o.options.Instance)
	whole, err := os.ReadFile(path)
	o.must(err)
	start := func() error {
		o.compose(o.options)
		return o.namespace.Do(func() error { return o.start(document(t, o.text)) })
	}
	o.must(os.WriteFile(path, whole[:5000], 0o600))
	if err := start(); err == nil || !strings.HasPrefix(err.Error(), "move "+path+" away to start without its bans") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the start says %v", err)
	}
	o.must(os.WriteFile(path, whole, 0o600))
	other, err := store.Open(statePath(o.options.Instance))
	o.must(err)
	if err := start(); err == nil || !strings.HasPrefix(err.Error(), "end the other daemon") {
		t.Errorf("a second one says %v", err)
	}
	o.must(other.Close())
	o.must(start())
	o.want("with the file that is whole", "203.0.113.1/32 1h0m0s jail ssh: 5 failures, offence 1")
}
