package chains

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/ruleset"
)

const (
	plain = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services: [{name: www.hosta.foo.example., protocol: tcp, port: 80}]
`
	withChains = plain + `chains:
  - name: web # for everybody
    match: {service: www.hosta.foo.example.}
    functions:
      - {use: filter, priority: 10, deny: [203.0.113.0/24]}
      - {use: filter, name: late, priority: 10} # the last one
  - name: out
    match: {direction: out}
`
)

// gateway has chains in force, and a file.
type gateway struct {
	*Service
	t        *testing.T
	path     string
	changing lock
	now      InForce
	counts   []datapath.Count
	refuses  error
	told     []string
}

// lock says whether it is held, and whether what is in force was looked at since.
type lock struct{ held, looked bool }

func (l *lock) Lock()   { l.held, l.looked = true, false }
func (l *lock) Unlock() { l.held = false }

// changes wants that nobody else can, since what is in force was looked at.
func (g *gateway) changes(what string) {
	if !g.changing.held || !g.changing.looked {
		g.t.Errorf("%s changes: the lock is held: %t, and looked at is what is in force: %t", what, g.changing.held, g.changing.looked)
	}
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{t: t, path: filepath.Join(t.TempDir(), "realmgate.yaml"), counts: make([]datapath.Count, datapath.MostCounts)}
	g.Service = New(Options{
		File: g.path, Changing: &g.changing,
		InForce: func() InForce {
			g.changing.looked = true
			return g.now
		},
		Put: func(d *config.Document) error {
			g.changes("what is in force")
			if g.refuses == nil {
				g.now.Document = d
				g.now.Generation++
			}
			return g.refuses
		},
		SetSaved: func(string) {
			g.changes("what is saved")
			g.now.Saved = g.now.Document.Config.Chains
		},
		Counts: func() ([]datapath.Count, error) { return g.counts, nil },
		Events: g, Log: slog.New(slog.DiscardHandler),
	})
	g.write(withChains)
	d, err := config.Read(g.path)
	g.must(err)
	g.now = InForce{Document: d, Saved: d.Config.Chains, Generation: 1, Backends: func(string) []api.Backend { return nil }}
	g.now.Numbers, err = ruleset.NewNumbers(d.Config)
	g.must(err)
	return g
}

// Emit notes an event.
func (g *gateway) Emit(e event.Event) {
	c, _ := e.(event.ChainChanged)
	g.told = append(g.told, fmt.Sprintf("%s %s %s %d", e.Kind(), c.Chain, c.Functions, c.Generation))
}

func (g *gateway) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) write(text string) {
	g.t.Helper()
	g.must(os.WriteFile(g.path, []byte(text), 0o600))
}

func (g *gateway) file() string {
	g.t.Helper()
	data, err := os.ReadFile(g.path)
	g.must(err)
	return string(data)
}

func (g *gateway) mustChange(do func(api.ChainRequest) (api.ChainChange, error), r api.ChainRequest, want ...string) {
	g.t.Helper()
	if done, err := do(r); err != nil || !slices.Equal(done.Functions, want) || done.Generation != g.now.Generation {
		g.t.Fatalf("%+v, %v, want %s", done, err, want)
	}
}

// changed is what status says that commands changed.
func (g *gateway) changed() string {
	g.t.Helper()
	var s api.Status
	g.must(g.Report(&s))
	return fmt.Sprint(s.ChangedChains)
}

// What commands change is told until it is undone.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	friends := api.ChainRequest{Chain: "web", Function: "{use: filter, name: friends, allow: [192.0.2.0/24]}", Before: "late"}
	g.mustChange(g.InsertFunction, friends, "filter", "friends", "late")
	g.mustChange(g.MoveFunction, api.ChainRequest{Chain: "web", Function: "filter", After: "late"}, "friends", "late", "filter")
	if got := g.changed(); got != "[{web [inserted friends moved filter]}]" {
		t.Error(got)
	}
	list, err := g.Chains()
	if err != nil || len(list) != 2 || len(list[0].Changes) != 2 || len(list[0].Functions) != 3 || len(list[1].Changes) != 0 {
		t.Errorf("%+v: %v", list, err)
	}
	g.mustChange(g.MoveFunction, api.ChainRequest{Chain: "web", Function: "late", After: "filter"}, "friends", "filter", "late")
	g.mustChange(g.RemoveFunction, api.ChainRequest{Chain: "web", Function: "friends"}, "filter", "late")
	if got := g.changed(); got != "[]" || g.file() != withChains {
		t.Errorf("all is as it was, and status says %s", got)
	}
	if want := []string{
		"chain_changed web [filter friends late] 2", "chain_changed web [friends late filter] 3", "chain_changed web [friends filter late] 4", "chain_changed web [filter late] 5",
	}; !slices.Equal(g.told, want) {
		t.Errorf("events %q, want %q", g.told, want)
	}
}

// Each function has the counts under its number, and its backends.
func TestFunctionsHaveTheirCounts(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for name, number := range g.now.Numbers {
		g.counts[number] = datapath.Count{Seen: uint64(len(name))}
	}
	g.counts[g.now.Numbers["web/late"]] = datapath.Count{Seen: 100, Accepted: 1, Dropped: 2, Failed: 3, Samples: 4, Ns: 50}
	g.now.Backends = func(function string) []api.Backend { return []api.Backend{{State: function}} }
	list, err := g.Chains()
	g.must(err)
	want := []api.Function{
		{Name: "filter", Use: "filter", Priority: 10, Seen: uint64(len("web/filter")), Backends: []api.Backend{{State: "web/filter"}}},
		{
			Name: "late", Use: "filter", Priority: 10, Seen: 100, Accepted: 1, Dropped: 2, Failed: 3, Samples: 4, NsEach: 12,
			Backends: []api.Backend{{State: "web/late"}},
		},
	}
	if len(list) != 2 || !reflect.DeepEqual(list[0].Functions, want) {
		t.Errorf("got  %+v\nwant %+v", list, want)
	}
}

// A reload loses the changes that its file does not have.
func TestLost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mustChange(g.InsertFunction, api.ChainRequest{Chain: "web", Function: "{use: filter, name: friends, allow: [192.0.2.0/24]}", Before: "late"}, "filter", "friends", "late")
	has := strings.Replace(withChains, "      - {use: filter, name: late", "      - {use: filter, name: friends, priority: 10, allow: [192.0.2.0/24]}\n      - {use: filter, name: late", 1)
	for text, want := range map[string]int{withChains: 1, plain: 1, has: 0} {
		c, err := config.Parse("a.yaml", []byte(text))
		g.must(err)
		if n := g.now.Lost(c); n != want {
			t.Errorf("%d changes are lost, want %d, with:\n%s", n, want, text)
		}
	}
}

// Saving writes the functions that commands changed, and leaves what else changed in the
// file.
func TestSave(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	if saved, err := g.SaveChains(api.Request{}); err != nil || len(saved.Chains) != 0 {
		t.Errorf("with nothing to save: %+v, %v", saved, err)
	}
	g.mustChange(g.RemoveFunction, api.ChainRequest{Chain: "web", Function: "filter"}, "late")
	g.mustChange(g.InsertFunction, api.ChainRequest{Chain: "out", Function: "{use: filter, deny: [{port: 25, protocol: tcp}]}"}, "filter")
	more := strings.Replace(withChains, "    services:", "    # Its services.\n    services:", 1) + "timeouts: {udp: 200s}\n"
	g.write(more)
	saved, err := g.SaveChains(api.Request{})
	if err != nil || !slices.Equal(saved.Chains, []string{"web", "out"}) || g.changed() != "[]" {
		t.Fatalf("saved %+v, %v, and changed is %s", saved, err, g.changed())
	}
	want := strings.Replace(more, "      - {use: filter, priority: 10, deny: [203.0.113.0/24]}\n", "", 1)
	want = strings.Replace(want, "direction: out}\n", "direction: out}\n    functions:\n      - {use: filter, deny: [{port: 25, protocol: tcp}]}\n", 1)
	if got := g.file(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What cannot be saved is refused whole: the file stays as it is.
func TestSavingIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mustChange(g.RemoveFunction, api.ChainRequest{Chain: "web", Function: "filter"}, "late")
	for file, want := range map[string]string{
		strings.Replace(withChains, "203.0.113.0/24", "203.0.113.0/25", 1): "chain web is not as it was loaded",
		plain:      "chain web is not as it was loaded",
		"nonsense": ":1: want a mapping",
	} {
		g.write(file)
		if _, err := g.SaveChains(api.Request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if g.file() != file || g.changed() != "[{web [removed filter]}]" {
			t.Errorf("afterwards %s and:\n%s", g.changed(), g.file())
		}
	}
	g.must(os.Remove(g.path))
	if saved, err := g.SaveChains(api.Request{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %+v, %v", saved, err)
	}
}

// A change that does not come into force is told to nobody.
func TestRefusedChange(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.refuses = errors.New("no room")
	for want, r := range map[string]api.ChainRequest{
		"no room":                   {Chain: "out", Function: "{use: filter}"},
		`there is no chain "no"`:    {Chain: "no", Function: "{use: filter}"},
		`it has no function "none"`: {Chain: "web", Function: "{use: filter, name: x}", Before: "none"},
	} {
		if done, err := g.InsertFunction(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %+v, %v", r, done, err)
		}
	}
	if len(g.told) > 0 || g.now.Generation != 1 || g.changed() != "[]" {
		t.Errorf("told %q, generation %d, changed %s", g.told, g.now.Generation, g.changed())
	}
}
