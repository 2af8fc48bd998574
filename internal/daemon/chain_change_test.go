package daemon

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

const withChains = text + `chains:
  - name: web # for everybody
    match: {service: www.hosta.foo.example.}
    functions:
      - {use: filter, priority: 10, deny: [203.0.113.0/24]}
      - {use: filter, name: late, priority: 10} # the last one
  - name: out
    match: {direction: out}
`

func TestDifferences(t *testing.T) {
	t.Parallel()
	list := func(names string) (functions []settings.Function) {
		for _, name := range strings.Fields(names) {
			f := settings.Function{Name: name[:1], Priority: 100}
			switch name[1:] {
			case "1":
				f.Priority = 1
			case "x":
				f.Settings = filter.Settings{Deny: []match.Condition{{}}}
			}
			functions = append(functions, f)
		}
		return functions
	}
	for _, c := range []struct{ was, is, want string }{
		{"", "", ""}, {"a b", "a b", ""},
		{"a", "a b", "inserted b"}, {"a b c", "a c", "removed b"}, {"a b", "c d", "removed a, removed b, inserted c, inserted d"},
		{"a b", "b a", "moved a"}, {"a b c", "b c a", "moved a"}, {"a b c", "c a b", "moved c"}, {"a b c d", "d c b a", "moved a, moved b, moved c"},
		{"a b", "b1 a", "moved b"}, {"a b", "a bx", "changed b"}, {"a b c", "d cx a1", "removed b, inserted d, changed c, moved a"},
	} {
		if got := strings.Join(settings.Differences(list(c.was), list(c.is)), ", "); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}

// begin puts withChains into force, also as the file of a rig.
func begin(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, withChains)
	if err := r.reloadWith(withChains); err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *rig) change(do func(api.ChainRequest) (api.ChainChange, error), r api.ChainRequest) (done api.ChainChange, err error) {
	b.t.Helper()
	return done, b.namespace.Do(func() error {
		done, err = do(r)
		return err
	})
}

func (b *rig) mustChange(do func(api.ChainRequest) (api.ChainChange, error), r api.ChainRequest, want ...string) {
	b.t.Helper()
	if done, err := b.change(do, r); err != nil || !slices.Equal(done.Functions, want) {
		b.t.Fatalf("%+v, %v, want %s", done, err, want)
	}
}

// changed is what status says that commands changed.
func (b *rig) changed() string {
	b.t.Helper()
	s, err := b.Status()
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprint(s.ChangedChains)
}

func (b *rig) file() string {
	b.t.Helper()
	data, err := os.ReadFile(b.options.ConfigFile)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// What commands change is told until it is saved, undone or dropped by a reload.
func TestChainChangesAreTold(t *testing.T) {
	t.Parallel()
	r := begin(t)
	told := record(t, r.Daemon)
	friends := api.ChainRequest{Chain: "web", Function: "{use: filter, name: friends, allow: [192.0.2.0/24]}", Before: "late"}
	r.mustChange(r.InsertFunction, friends, "filter", "friends", "late")
	r.mustChange(r.MoveFunction, api.ChainRequest{Chain: "web", Function: "filter", After: "late"}, "friends", "late", "filter")
	if got := r.changed(); got != "[{web [inserted friends moved filter]}]" {
		t.Error(got)
	}
	chains, err := r.Chains()
	if err != nil || len(chains) != 2 || len(chains[0].Changes) != 2 || len(chains[1].Changes) != 0 {
		t.Errorf("%+v: %v", chains, err)
	}
	r.mustChange(r.MoveFunction, api.ChainRequest{Chain: "web", Function: "late", After: "filter"}, "friends", "filter", "late")
	r.mustChange(r.RemoveFunction, api.ChainRequest{Chain: "web", Function: "friends"}, "filter", "late")
	if got := r.changed(); got != "[]" || r.file() != withChains {
		t.Errorf("all is as it was, and status says %s", got)
	}
	r.mustChange(r.InsertFunction, friends, "filter", "friends", "late")
	var done api.Reload
	if err := r.namespace.Do(func() (err error) { done, err = r.Reload(); return err }); err != nil || done.Dropped != 1 || r.changed() != "[]" {
		t.Errorf("a reload dropped %d changes (%s): %v", done.Dropped, r.changed(), err)
	}
	r.mustChange(r.InsertFunction, friends, "filter", "friends", "late")
	by := strings.Replace(withChains, "      - {use: filter, name: late", "      - {use: filter, name: friends, priority: 10, allow: [192.0.2.0/24]}\n      - {use: filter, name: late", 1)
	if err := os.WriteFile(r.options.ConfigFile, []byte(by), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.namespace.Do(func() (err error) { done, err = r.Reload(); return err }); err != nil || done.Dropped != 0 {
		t.Errorf("%d changes dropped that the file has too: %v", done.Dropped, err)
	}
	var events []string
	for _, e := range told() {
		events = append(events, strings.TrimSpace(fmt.Sprintln(e.Kind, e.Chain, e.Functions)))
	}
	if want := []string{
		"chain_changed web [filter friends late]", "chain_changed web [friends late filter]", "chain_changed web [friends filter late]",
		"chain_changed web [filter late]", "chain_changed web [filter friends late]", // then a reload ends the sink
	}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
}

// Saving writes the functions that commands changed, and leaves what else changed in the
// file.
func TestChainsAreSaved(t *testing.T) {
	t.Parallel()
	r := begin(t)
	if saved, err := r.SaveChains(); err != nil || len(saved.Chains) != 0 {
		t.Errorf("with nothing to save: %+v, %v", saved, err)
	}
	r.mustChange(r.RemoveFunction, api.ChainRequest{Chain: "web", Function: "filter"}, "late")
	r.mustChange(r.InsertFunction, api.ChainRequest{Chain: "out", Function: "{use: filter, deny: [{port: 25, protocol: tcp}]}"}, "filter")
	more := strings.Replace(withChains, "    services:", "    # Its services.\n    services:", 1) + "timeouts: {udp: 200s}\n"
	if err := os.WriteFile(r.options.ConfigFile, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	saved, err := r.SaveChains()
	if err != nil || !slices.Equal(saved.Chains, []string{"web", "out"}) || r.changed() != "[]" {
		t.Fatalf("saved %+v, %v, and changed is %s", saved, err, r.changed())
	}
	want := strings.Replace(more, "      - {use: filter, priority: 10, deny: [203.0.113.0/24]}\n", "", 1)
	want = strings.Replace(want, "direction: out}\n", "direction: out}\n    functions:\n      - {use: filter, deny: [{port: 25, protocol: tcp}]}\n", 1)
	if got := r.file(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if err := r.namespace.Do(func() error { done, err := r.Reload(); return errOr(err, done.Dropped) }); err != nil {
		t.Error(err)
	}
	if out := r.view.Load().config.Chains[1].Functions; len(out) != 1 {
		t.Errorf("after a reload: %+v", out)
	}
}

func errOr(err error, dropped int) error {
	if err == nil && dropped > 0 {
		return fmt.Errorf("%d changes dropped", dropped)
	}
	return err
}

// What cannot be saved is refused whole: the file stays as it is.
func TestSavingIsRefused(t *testing.T) {
	t.Parallel()
	r := begin(t)
	r.mustChange(r.RemoveFunction, api.ChainRequest{Chain: "web", Function: "filter"}, "late")
	for file, want := range map[string]string{
		strings.Replace(withChains, "203.0.113.0/24", "203.0.113.0/25", 1): "chain web is not as it was loaded",
		text:       "chain web is not as it was loaded",
		"nonsense": ":1: want a mapping",
	} {
		if err := os.WriteFile(r.options.ConfigFile, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SaveChains(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if r.file() != file || r.changed() != "[{web [removed filter]}]" {
			t.Errorf("afterwards %s and:\n%s", r.changed(), r.file())
		}
	}
	r.options.ConfigFile = "/dev/null"
	if _, err := r.SaveChains(); err == nil {
		t.Error("/dev/null was written")
	}
}

// A change that is refused, early or by the kernel's tables, changes nothing.
func TestRefusedChainChangeChangesNothing(t *testing.T) {
	t.Parallel()
	r := begin(t)
	before := r.view.Load()
	for _, c := range []struct {
		do   func(api.ChainRequest) (api.ChainChange, error)
		r    api.ChainRequest
		want string
	}{
		{r.InsertFunction, api.ChainRequest{Chain: "no", Function: "{use: filter}"}, `there is no chain "no"`},
		{r.InsertFunction, api.ChainRequest{Chain: "out", Function: "{use: filtre}"}, `FUNCTION:1: use: want filter`},
		{r.InsertFunction, api.ChainRequest{Chain: "web", Function: "{use: filter}"}, `filter is the name of functions[0] too`},
		{r.InsertFunction, api.ChainRequest{Chain: "out", Function: "{use: filter, deny: [" + nested() + "]}"}, `chains: function out/filter: more than 14 different conditions`},
		{r.RemoveFunction, api.ChainRequest{Chain: "out", Function: "filter"}, `chain out: it has no function "filter"`},
		{r.MoveFunction, api.ChainRequest{Chain: "web", Function: "filter", After: "none"}, `chain web: it has no function "none"`},
	} {
		if done, err := r.change(c.do, c.r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c.r, done, err)
		}
	}
	generation, err := r.data.Generation()
	if now := r.view.Load(); err != nil || now != before || generation != before.generation {
		t.Errorf("generation %d, before %d, %v", generation, before.generation, err)
	}
}
