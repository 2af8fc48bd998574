package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
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

// What commands change is told until it is saved, or dropped by a reload.
func TestChainChanges(t *testing.T) {
	t.Parallel()
	r := begin(t)
	told := record(t, r.Daemon)
	reload := func(want int) {
		t.Helper()
		var done api.Reload
		if err := r.namespace.Do(func() (err error) { done, err = r.reload.Reload(api.ReloadRequest{}); return err }); err != nil || done.Dropped != want || r.changed() != "[]" {
			t.Errorf("a reload dropped %d changes, want %d (%s): %v", done.Dropped, want, r.changed(), err)
		}
	}
	r.mustChange(r.RemoveFunction, api.ChainRequest{Chain: "web", Function: "late"}, "filter")
	r.mustChange(r.MoveFunction, api.ChainRequest{Chain: "web", Function: "filter", Priority: new(int)}, "filter")
	if got := r.changed(); got != "[{web [removed late moved filter]}]" {
		t.Error(got)
	}
	if saved, err := r.SaveChains(api.Request{}); err != nil || !slices.Equal(saved.Chains, []string{"web"}) || r.changed() != "[]" {
		t.Errorf("saved %+v, %v, and changed is %s", saved, err, r.changed())
	}
	r.mustChange(r.InsertFunction, api.ChainRequest{Chain: "out", Function: "{use: filter, deny: [{port: 25, protocol: tcp}]}"}, "filter")
	chains, err := r.Chains()
	if err != nil || len(chains) != 2 || len(chains[0].Changes) != 0 || len(chains[1].Changes) != 1 {
		t.Errorf("%+v: %v", chains, err)
	}
	reload(1)
	reload(0)
	if c := r.view.Load().config.Chains; len(c[0].Functions) != 1 || len(c[1].Functions) != 0 {
		t.Errorf("after a reload: %+v", c)
	}
	var events []string
	for _, e := range told() {
		events = append(events, strings.TrimSpace(fmt.Sprintln(e.Kind, e.Chain, e.Functions)))
	}
	// A reload ends the sink.
	if want := []string{"chain_changed web [filter]", "chain_changed web [filter]", "chain_changed out [filter]"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
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
