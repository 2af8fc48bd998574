package daemon

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/nameserver"
)

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
