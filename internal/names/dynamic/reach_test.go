package dynamic

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/store"
)

const laptop = model.Name("laptop.home.example.")

// What was opened for one host leads to no other, not even for the moment between: who has its address next is opened when
// nothing leads there (I9).
func TestNothingLeadsToTheNext(t *testing.T) {
	t.Parallel()
	for about, next := range map[string]string{"its address": "tv@10.0.1.5 bb", "its name and address": "laptop@10.0.1.5 bb"} {
		h := newHouse(t, home())
		h.write(false, "laptop@10.0.1.5 aa")
		h.look(h.sources[entryKey(home())], true, h.Now())
		h.visit(laptop)
		h.write(false, next)
		h.look(h.sources[entryKey(home())], true, h.Now())
		if h.visited("10.0.1.5") || h.table.at[netip.MustParseAddr("10.0.1.5")].Client != "bb" {
			t.Errorf("%s: sessions with %s, bindings %v, opened meanwhile: %q", about, h.with, h.lent, h.late)
		}
	}
}

// The daemon was killed before its disk had who is at an address: nothing that stands leads there. Who was known stays.
func TestNothingLeadsToTheNextAfterAKill(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa", "phone@10.0.2.5 cc")
	h.again()
	h.visit("phone.home.example.")
	if h.again(); !h.visited("10.0.2.5") {
		t.Error("a restart ends sessions of who is as before")
	}
	for about, next := range map[string]string{"another client": "laptop@10.0.1.5 bb", "another name": "tv@10.0.1.5 bb"} {
		h.with = nil
		h.visit(laptop)
		h.write(false, next)
		if h.again(); h.leads(netip.MustParseAddr("10.0.1.5")) {
			t.Errorf("%s: sessions with %s, bindings %v", about, h.with, h.lent)
		}
		h.write(false, "laptop@10.0.1.5 aa")
		h.again()
	}
	kept := h.store.(*store.Store)
	h.with = nil
	h.visit(laptop)
	if err := kept.Change(bucket, nil, []string{laptop.String()}); err != nil { // as if the disk never had it
		t.Fatal(err)
	}
	if h.again(); h.leads(netip.MustParseAddr("10.0.1.5")) {
		t.Errorf("of whom the disk knows nothing: sessions with %s, bindings %v", h.with, h.lent)
	}
}

// A lease that ended while there was no daemon ends at the next start, with its sessions.
func TestLeaseThatEndedWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa", "phone@10.0.2.5 cc")
	h.again()
	h.visit(laptop)
	h.visit("phone.home.example.")
	value, err := json.Marshal(kept{Entry: entryKey(home()), Address: netip.MustParseAddr("10.0.1.5"), Client: "aa", Ends: h.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Change(bucket, map[string][]byte{laptop.String(): value}, nil); err != nil {
		t.Fatal(err)
	}
	h.write(false, "phone@10.0.2.5 cc")
	if h.again(); h.has() != "phone@10.0.2.5" || !slices.Equal(h.with, []netip.Addr{netip.MustParseAddr("10.0.2.5")}) {
		t.Errorf("there is %q, and sessions are with %s", h.has(), h.with)
	}
}

// A host is the same one under any name that its client says, and another where another client says it.
func TestAHostIsTheSameUnderAnyName(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	reads := func(name model.Name, lease string) string {
		h.write(false, lease)
		h.look(h.sources[entryKey(home())], true, h.Now())
		return h.specs[name].Identity
	}
	first := reads(laptop, "laptop@10.0.1.5 aa")
	if again := reads("tv.home.example.", "tv@10.0.1.5 aa"); first == "" || again != first {
		t.Errorf("%q became %q", first, again)
	}
	if other := reads(laptop, "laptop@10.0.1.5 bb"); other == "" || other == first {
		t.Errorf("another client is %q as well", other)
	}
	h.again()
	if now, then := h.specs[laptop].Identity, entryKey(home())+" bb"; now != then {
		t.Errorf("after a restart it is %q, not %q", now, then)
	}
	listed := home()
	listed.Source = settings.Listed
	e := &entry{Entry: listed, key: entryKey(listed)}
	if got := (&Host{Name: laptop, entry: e}).spec().Identity; got != "" {
		t.Errorf("of one of a file of hosts nothing is known but its name: %q", got)
	}
	e.clients = map[model.Name][]string{laptop: {"AAEB", "AAEC"}}
	if got := (&Host{Name: laptop, entry: e}).spec().Identity; got != e.key+" AAEB AAEC" {
		t.Errorf("one with identifiers (RFC 4701) is %q", got)
	}
}

// Another configuration of what a host opens leaves what it opens as before where it is.
func TestOtherServicesLeaveTheRest(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa")
	h.look(h.sources[entryKey(home())], true, h.Now())
	h.lent = map[model.Name]netip.Addr{laptop: h.hosts[laptop], "www." + laptop: h.hosts[laptop]}
	other := home()
	other.Services[1].Ports = []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}
	h.entries = []settings.Entry{other}
	h.configure(h.configured())
	if got := slices.Collect(maps.Keys(h.lent)); !slices.Equal(got, []model.Name{laptop}) {
		t.Errorf("the pool leads to %q", got)
	}
}

// A host whose names the realm does not take opens nothing.
func TestWhoIsRefusedOpensNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.refuses = laptop
	h.write(false, "laptop@10.0.1.5 aa", "phone@10.0.2.5 cc")
	h.look(h.sources[entryKey(home())], true, h.Now())
	if h.has() != "phone@10.0.2.5" || len(h.open) != 2 {
		t.Errorf("%q, open is %v", h.has(), h.open)
	}
}

// The identifiers of a name without an address outlive a restart: its client has the name again by them.
func TestIdentifiersOutliveARestart(t *testing.T) {
	t.Parallel()
	e := home()
	e.Source, e.File, e.Key = settings.Update, "", "d2."
	h := newHouse(t, e)
	for signed, r := range []nameserver.Registration{{Address: netip.MustParseAddr("10.0.1.5"), Clients: []string{"one"}}, {Clients: []string{"one"}}} {
		if err := h.Register("home.example.", "d2.", map[model.Name]nameserver.Registration{laptop: r}, uint64(signed+1)); err != nil { //nolint:gosec // 1 or 2
			t.Fatal(err)
		}
	}
	h.again()
	if got := h.Registration("home.example.", "d2.", laptop); !slices.Equal(got.Clients, []string{"one"}) || h.has() != "" {
		t.Errorf("%+v, %q", got, h.has())
	}
}

// I9: a name and an address that an update gives to another client are another host's: nothing leads on to it that led to the
// first. The same identifiers in another order are the same client.
func TestAnotherClientIsAnotherHost(t *testing.T) {
	t.Parallel()
	e := home()
	e.Source, e.File, e.Key = settings.Update, "", "d2."
	h := newHouse(t, e)
	at := netip.MustParseAddr("10.0.1.5")
	says := func(clients ...string) string {
		t.Helper()
		h.told, h.lent, h.with = nil, map[model.Name]netip.Addr{laptop: at}, []netip.Addr{at}
		r := nameserver.Registration{Address: at, Clients: clients}
		if err := h.Register("home.example.", "d2.", map[model.Name]nameserver.Registration{laptop: r}, 1); err != nil || h.has() != "laptop@10.0.1.5" {
			t.Fatalf("%q: %q, %v", clients, h.has(), err)
		}
		return h.specs[laptop].Identity
	}
	first := says("one", "two")
	h.late = nil
	if again := says("two", "one"); again != first || len(h.told) != 0 || len(h.lent) != 1 || len(h.with) != 1 {
		t.Errorf("in another order: %q became %q, told %q, lent %v, sessions with %v", first, again, h.told, h.lent, h.with)
	}
	for _, clients := range [][]string{{"one"}, {"three"}, {}} {
		if other := says(clients...); other == first || len(h.told) != 2 || len(h.lent) != 0 || len(h.with) != 0 {
			t.Errorf("%q after %q: it is %q, told %q, lent %v, sessions with %v", clients, first, other, h.told, h.lent, h.with)
		}
		first = h.specs[laptop].Identity
	}
	if len(h.late) > 0 {
		t.Errorf("opened while something led there: %q", h.late)
	}
}
