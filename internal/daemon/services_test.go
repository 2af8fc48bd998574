package daemon

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Wherever a service fails, in the order of the list, a reload changes nothing, and the next one does.
func TestServiceThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	const other, more = "www.hostb.foo.example.", `chains: [{name: web, match: {direction: in}, functions: [{use: filter, deny: [{remote: 203.0.113.0/24}]}]}]` + "\n"
	text := strings.Replace(text, "pool: {", "pool: {offer: 1m, ", 1) // which outlasts the test
	r := newRig(t, text)
	r.routed()
	address := r.mustAsk(www)
	before, fails := r.services, errors.New("it fails")
	type service = lifecycle.Service[*draft, *api.Status]
	for _, name := range []string{"lists", "data plane", "policy", "pool", "name servers", "view"} {
		i := slices.IndexFunc(before, func(s service) bool { return s.Name == name })
		for at, failing := range map[string]service{
			"prepares": {Prepare: func(*draft) (change, error) { return change{}, fails }},
			"commits":  {Prepare: func(*draft) (change, error) { return change{Commit: func() error { return fails }}, nil }},
		} {
			r.services = slices.Insert(slices.Clone(before), i, failing)
			err := r.reloadWith(text + otherHost("b", 101) + more)
			if !errors.Is(err, fails) || strings.Contains(err.Error(), "rolled back") != (at == "commits") {
				t.Errorf("what %s before %s fails: %v", at, name, err)
			}
			generation, err := r.data.Generation()
			if err != nil || generation != r.view.Load().generation {
				t.Errorf("what %s before %s fails: generation %d is in force, %d is told: %v", at, name, generation, r.view.Load().generation, err)
			}
			if _, found := r.view.Load().realm.Find(other); found {
				t.Errorf("what %s before %s fails: a name of the refused file is known", at, name)
			}
			if again := r.mustAsk(www); again != address {
				t.Errorf("what %s before %s fails: the name had %s, now it has %s", at, name, address, again)
			}
			if chains, err := r.Chains(); err != nil || len(chains) > 0 {
				t.Errorf("what %s before %s fails: there are chains %v, %v", at, name, chains, err)
			}
		}
	}
	r.admits(netip.MustParseAddrPort("203.0.113.10:5000"), r.mustAsk(www), 80) // whom the refused chain would deny
	r.services = before
	r.must(r.reloadWith(text + otherHost("b", 101) + more))
	r.mustAsk(other)
	r.refuses(netip.MustParseAddrPort("203.0.113.10:5001"), address, 80, "drop_denied")
}
