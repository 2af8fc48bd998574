package daemon

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// However many are banned at once, each is named by one event, which says when the last ban
// of those that it names ends. So is it with the ends of bans.
func TestEachBanIsNamedByAnEvent(t *testing.T) {
	t.Parallel()
	var g Daemon
	told, hears := record(t, &g), banEvents{&g.events}
	at := time.Unix(1_800_000_000, 5_999_999)
	var made []ban.Ban
	var all []netip.Prefix
	for a := netip.MustParseAddr("100.64.0.0"); len(made) < 2*event.MostNamed+1; a = a.Next() {
		p := netip.PrefixFrom(a, 32)
		made, all = append(made, ban.Ban{Prefix: p, Until: at.Add(time.Duration(len(made)) * time.Second), Reason: "manual"}), append(all, p)
	}
	made[7].Until = time.Time{}
	hears.Banned(nil)
	hears.Banned(made)
	hears.Unbanned(nil, ban.Expired)
	hears.Unbanned(all, ban.Expired)
	var got []netip.Prefix
	until := []time.Time{{}, at.Add((2*event.MostNamed - 1) * time.Second), at.Add(2 * event.MostNamed * time.Second)}
	list := told()
	for i, e := range list[:len(list)-1] {
		kind, reason := "ban", "manual"
		if i >= len(until) {
			kind, reason, until = "unban", ban.Expired, append(until, time.Time{})
		}
		if e.Kind != kind || e.Reason != reason || e.Count != len(e.Prefixes) || e.Count > event.MostNamed || !e.Until.Equal(until[i].Truncate(time.Millisecond)) {
			t.Errorf("event %d is %+v, want a %s until %s", i, e, kind, until[i])
		}
		got = append(got, e.Prefixes...)
	}
	if len(list) != 7 || !slices.Equal(got, slices.Concat(all, all)) {
		t.Errorf("%d events name %d prefixes of %d", len(list), len(got), 2*len(all))
	}
}

// toldEvent has the fields of several kinds.
type toldEvent struct {
	Kind, List, Jail, Chain, Error, Reason string
	Functions                              []string
	Prefixes                               []netip.Prefix
	Count                                  int
	Until                                  time.Time
}

// record lets a gateway tell events, and returns how to end that and what was told.
func record(t *testing.T, g *Daemon) (told func() []toldEvent) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	g.events.Log = slog.New(slog.DiscardHandler)
	g.events.Follow([]events.Options{{Name: "a", File: path}})
	return func() (list []toldEvent) {
		g.events.Close(event.Stop{})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e toldEvent
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			list = append(list, e)
		}
		return list
	}
}

// recorder is the same, with each as "kind name error".
func recorder(t *testing.T, g *Daemon) (told func() []string) {
	recorded := record(t, g)
	return func() (list []string) {
		for _, e := range recorded() {
			list = append(list, strings.Join(strings.Fields(e.Kind+" "+e.List+e.Jail+" "+e.Error), " "))
		}
		return list
	}
}

// Questions without an address are one event, and one repeated within a second is one question; who has its address
// gets it meanwhile.
func TestExhaustionIsToldOnce(t *testing.T) {
	t.Parallel()
	b := newRig(t, strings.NewReplacer("[198.18.0.32/28]", "[198.18.0.32], wait: 0s", "    services", "    open: all\n    services").Replace(text)+
		"  - {name: hostb.foo.example., address: 10.0.0.101, open: all}\n")
	told := recorder(t, b.Daemon)
	b.mustAsk("hosta.foo.example.")
	for range 3 {
		if _, err := b.ask("hostb.foo.example."); !errors.Is(err, nameserver.ErrExhausted) {
			t.Fatal(err)
		}
	}
	b.mustAsk("hosta.foo.example.")
	other := netip.MustParseAddrPort("192.0.2.53:4000")
	if _, err := b.askFrom(other, "hostb.foo.example."); !errors.Is(err, nameserver.ErrExhausted) {
		t.Fatal(err)
	}
	status, err := b.Status()
	if err != nil || status.DNS.Exhausted != 2 || !strings.Contains(strings.Join(status.Warnings, "\n"), "pool.rest") {
		t.Errorf("%+v, %q, %v", status.DNS, status.Warnings, err)
	}
	if got := told(); !reflect.DeepEqual(got, []string{"pool_exhausted", "stop"}) {
		t.Errorf("told %q", got)
	}
}
