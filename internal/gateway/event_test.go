package gateway

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

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/protect/ban"
)

// However many are banned at once, it is one event, which names the first of them and
// says when the last ban ends.
func TestBansAtOnceAreOneEvent(t *testing.T) {
	at := time.Unix(1_800_000_000, 5_999_999)
	var made []ban.Ban
	for a := netip.MustParseAddr("100.64.0.0"); len(made) < 100_000; a = a.Next() {
		made = append(made, ban.Ban{Prefix: netip.PrefixFrom(a, 32), Until: at.Add(time.Duration(len(made)%1000) * time.Second), Reason: "manual"})
	}
	e := banned(made)
	if len(e.Prefixes) != events.MostNamed || e.Prefixes[0] != made[0].Prefix || e.Count != len(made) || e.Reason != "manual" ||
		!e.Until.Equal(at.Add(999*time.Second).Truncate(time.Millisecond)) {
		t.Errorf("%+v", e)
	}
	made[7].Until = time.Time{}
	if e := banned(made); !e.Until.IsZero() {
		t.Errorf("with one for ever until %s", e.Until)
	}
	if e := banned(made[:1]); !reflect.DeepEqual(e.Prefixes, []netip.Prefix{made[0].Prefix}) || e.Count != 1 {
		t.Errorf("%+v", e)
	}
}

func TestPoolIsExhaustedUntilNobodyWasRefusedForAWhile(t *testing.T) {
	var p pressure
	now := model.Instant(0)
	for range 3 {
		if !p.refuse(now) {
			t.Fatal("the first refusal is no news")
		}
		for range 5 {
			now = now.Add(calm - 1)
			if refused, ends := p.recovered(now); ends {
				t.Fatalf("recovered after %d", refused)
			}
			if p.refuse(now) {
				t.Fatal("another refusal is news")
			}
		}
		now = now.Add(calm)
		if refused, ends := p.recovered(now); !ends || refused != 6 {
			t.Errorf("recovered: %t, after %d", ends, refused)
		}
		if _, ends := p.recovered(now.Add(time.Hour)); ends {
			t.Error("recovered twice")
		}
	}
}

// recorder lets a gateway tell events, and returns how to end that and what was told, as
// "kind name".
func recorder(t *testing.T, g *Gateway) (told func() []string) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	g.events.Log = slog.New(slog.DiscardHandler)
	g.events.Follow([]events.Options{{Name: "a", File: path}})
	return func() (list []string) {
		g.events.Close(events.Stop{})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct{ Kind, List, Watch, Error string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			list = append(list, strings.Join(strings.Fields(e.Kind+" "+e.List+e.Watch+" "+e.Error), " "))
		}
		return list
	}
}

func TestListsTellWhatChanges(t *testing.T) {
	g := &Gateway{}
	told := recorder(t, g)
	a, b := &feed{config: config.List{Name: "a"}}, &feed{config: config.List{Name: "b"}}
	bad := errors.New("bad")
	for _, step := range []struct {
		f   *feed
		err error
	}{{a, nil}, {a, bad}, {b, nil}, {a, errors.New("worse")}, {b, bad}, {a, nil}, {a, nil}, {a, bad}} {
		g.emitList(t.Context(), step.f, step.err)
	}
	want := []string{"list_failed a bad", "list_failed b bad", "list_recovered a", "list_failed a bad", "stop"}
	if got := told(); !reflect.DeepEqual(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Questions without an address are one event, and another when that is over.
func TestExhaustionIsToldOnce(t *testing.T) {
	b := newRig(t, strings.Replace(text, "[198.18.0.32/28]", "[198.18.0.32], offer: 60s, wait: 0s", 1)+
		"  - {name: hostb.foo.example., address: 10.0.0.101}\n")
	told := recorder(t, b.Gateway)
	b.mustAsk("hostb.foo.example.")
	for range 3 {
		if _, err := b.ask("hosta.foo.example."); !errors.Is(err, nameserver.ErrExhausted) {
			t.Fatal(err)
		}
		b.emitRecovery()
	}
	b.pressure.last = b.pressure.last.Add(-calm)
	b.emitRecovery()
	if got := told(); !reflect.DeepEqual(got, []string{"pool_exhausted", "pool_recovered", "stop"}) {
		t.Errorf("told %q", got)
	}
}
