package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

type service = lifecycle.Service[*draft, *api.Status]

var errFails = errors.New("it fails")

// failing are services that fail, by what they fail at.
func failing() map[string]service {
	return map[string]service{
		"prepares": {Prepare: func(*draft) (change, error) { return change{}, errFails }},
		"commits":  {Prepare: func(*draft) (change, error) { return change{Commit: func() error { return errFails }}, nil }},
	}
}

// before tells the service that one at a place of a list is before.
func before(list serviceList, at int) string {
	if at == len(list) {
		return "the end"
	}
	return list[at].Name
}

// Wherever in the list a service fails, a reload changes nothing, and the next one does.
func TestServiceThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	const other, more = "www.hostb.foo.example.", `chains: [{name: web, match: {direction: in}, functions: [{use: filter, deny: [{remote: 203.0.113.0/24}]}]}]` + "\n"
	text := strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, ", 1)
	r := newRig(t, text)
	r.routed()
	r.running("pool") // which knows when an answer is no more: on a busy machine that is before the end
	address := r.mustAsk(www)
	all := r.services
	for at := range len(all) + 1 {
		for does, service := range failing() {
			where := fmt.Sprintf("what %s before %s fails", does, before(all, at))
			r.services = slices.Insert(slices.Clone(all), at, service)
			err := r.reloadWith(text + otherHost("b", 101) + more)
			if !errors.Is(err, errFails) || strings.Contains(err.Error(), "rolled back") != (does == "commits") {
				t.Errorf("%s: %v", where, err)
			}
			generation, err := r.data.Generation()
			if err != nil || generation != r.view.Load().generation {
				t.Errorf("%s: generation %d is in force, %d is told: %v", where, generation, r.view.Load().generation, err)
			}
			if _, found := r.view.Load().realm.Find(other); found {
				t.Errorf("%s: a name of the refused file is known", where)
			}
			if again := r.mustAsk(www); again != address {
				t.Errorf("%s: the name had %s, now it has %s", where, address, again)
			}
			if chains, err := r.Chains(); err != nil || len(chains) > 0 {
				t.Errorf("%s: there are chains %v, %v", where, chains, err)
			}
		}
	}
	r.admits(netip.MustParseAddrPort("203.0.113.10:5000"), r.mustAsk(www), 80) // whom the refused chain would deny
	r.services = all
	r.must(r.reloadWith(text + otherHost("b", 101) + more))
	r.mustAsk(other)
	r.refuses(netip.MustParseAddrPort("203.0.113.10:5001"), address, 80, "drop_denied")
}

// Wherever in the list a service fails, a start leaves the machine as it was, and the next one works.
func TestStartThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newIdleRig(t, slog.New(slog.DiscardHandler))
	was, text := r.traces(), strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, ", 1)
	for at := range len(r.services) + 1 {
		for does, service := range failing() {
			where := fmt.Sprintf("what %s before %s fails", does, before(r.services, at))
			r.services = slices.Insert(r.services, at, service)
			if err := r.namespace.Do(func() error { return r.start(document(t, text)) }); !errors.Is(err, errFails) {
				t.Fatalf("%s: the start ended with %v", where, err)
			}
			if is := r.traces(); !reflect.DeepEqual(is, was) {
				t.Errorf("%s: before the start there were %v, and then %v", where, was, is)
			}
			r.compose(r.options)
		}
	}
	r.begin(text)
	if is := r.traces(); reflect.DeepEqual(is, was) {
		t.Errorf("what a start leaves is not seen in %v", is)
	}
	r.routed()
	r.admits(remote, r.mustAsk(www), 80)
}

// traces are what a start leaves on the machine: pins, programs and settings of interfaces.
func (b *rig) traces() map[string]any {
	b.t.Helper()
	pins, err := filepath.Glob(filepath.Join("/sys/fs/bpf/realmgate", b.options.Instance, "*"))
	b.must(err)
	attached, err := b.namespace.Attached()
	b.must(err)
	all := map[string]any{"pins": len(pins), "attached": attached}
	for _, name := range []string{"eth0", "eth1"} {
		for _, setting := range []string{"forwarding", "accept_local", "rp_filter", "send_redirects"} {
			key := filepath.Join("net/ipv4/conf", name, setting)
			all[key], err = b.namespace.Sysctl(key)
			b.must(err)
		}
	}
	return all
}
