package daemon

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

var (
	configurations = flag.Int("configurations", 3, "of TestExplainDifferential; 1000 in the part explain")
	flows          = flag.Int("flows", 60, "of TestExplainDifferential for each configuration")
	explainSeed    = flag.Uint64("explain-seed", 0, "of TestExplainDifferential; 0: one from the clock, which a failure prints")
)

// differentialParts run side by side where there is much to do: each waits for the kernel half of its time.
const differentialParts = 4

// Random flows through random configurations end as explained, and the functions that were
// explained are asked.
func TestExplainDifferential(t *testing.T) {
	t.Parallel()
	seed := *explainSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("again: -run TestExplainDifferential -configurations %d -flows %d -explain-seed %d", *configurations, *flows, seed)
	parts := make([]*differential, 1)
	if *configurations >= 20*differentialParts {
		parts = make([]*differential, differentialParts)
	}
	object, places := ownFunction(t), somewhere(t)
	t.Run("parts", func(t *testing.T) {
		for n := range parts {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				d := &differential{
					rig: newRig(t, text+"capacity: 1024\n"), r: rand.New(rand.NewPCG(seed, uint64(n))), places: places, coverage: newCoverage(), dries: map[datapath.Mode]*datapath.Dry{},
				}
				parts[n] = d
				d.must(os.WriteFile(filepath.Join(filepath.Dir(d.options.ConfigFile), ownFile), object, 0o600))
				// Without it each answer waits half a second for a disk that nobody writes.
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { d.pool.Run(ctx) })
				defer func() { cancel(); running.Wait() }()
				d.walk(*configurations/len(parts), *flows)
			})
		}
	})
	if t.Failed() {
		return
	}
	all := newCoverage()
	for _, d := range parts {
		all.join(d.coverage)
	}
	t.Log(all)
	for _, lack := range all.lacks() {
		t.Error(lack)
	}
}

// follow explains the configuration in force.
func (d *differential) follow() {
	d.t.Helper()
	d.explainer, d.explained = d.newExplainer(), d.view.Load()
	open := d.explainer.Dry
	d.explainer.Dry = func(mode datapath.Mode) (dry *datapath.Dry, err error) {
		if dry = d.dries[mode]; dry != nil {
			return dry, d.setChains(dry, d.explained)
		}
		dry, err = open(mode)
		d.dries[mode] = dry
		return dry, err
	}
}

// walk sends flows through so many configurations.
func (d *differential) walk(configurations, flows int) {
	defer func() {
		d.explainer = nil
		for _, dry := range d.dries {
			d.must(dry.Close())
		}
	}()
	d.ready(d.t)
	for n := range configurations {
		d.configure()
		d.follow()
		for range flows {
			d.once()
		}
		if d.t.Failed() {
			d.t.Fatalf("configuration %d:\n%s", n, d.text)
		}
	}
}

type differential struct {
	*rig
	r       *rand.Rand
	places  string // a geo table
	clocked bool   // something is counted for a time alone
	bans    map[netip.Prefix]time.Time
	coverage
	// To load the programs of dry runs takes longer than to go through a configuration: they stay, and get other chains.
	dries map[datapath.Mode]*datapath.Dry
}

func pick[T any](d *differential, list ...T) T { return list[d.r.IntN(len(list))] }

// often is true in n of 10.
func (d *differential) often(n int) bool { return d.r.IntN(10) < n }

// configure puts a random configuration into force.
func (d *differential) configure() {
	d.t.Helper()
	d.text = d.configuration()
	if err := d.reloadWith(d.text); err != nil {
		d.t.Fatalf("%v\n%s", err, d.text)
	}
	if d.often(5) {
		_, err := d.data.EndSessions(func(datapath.Session) bool { return true })
		d.must(err)
	}
	d.must(d.data.DeleteBans(slices.Collect(maps.Keys(d.bans))))
	d.bans = map[netip.Prefix]time.Time{}
	for d.often(4) {
		d.bans[netip.PrefixFrom(d.stranger(), pick(d, 32, 32, 31)).Masked()] = time.Now().Add(time.Hour)
		d.bans[netip.PrefixFrom(d.stranger6(), 128)] = time.Now().Add(time.Hour)
	}
	d.must(d.data.PutBans(d.bans))
}

// seen is how often functions were asked, by their numbers.
func (d *differential) seen() map[uint32]uint64 {
	d.t.Helper()
	counts, err := d.data.Counts()
	d.must(err)
	seen := map[uint32]uint64{}
	for number, c := range counts {
		seen[uint32(number)] = c.Seen
	}
	return seen
}

// once explains a flow and sends its first packet.
func (d *differential) once() {
	d.t.Helper()
	d.flowIs(d.flow())
}

func (d *differential) flowIs(f explain.Flow) {
	d.t.Helper()
	var foretold []outcome
	var in dataplane.Injected
	began := datapath.Now()
	d.must(d.data.WebHeartbeat()) // as the service would
	d.must(d.namespace.Do(func() (err error) {
		if in.Frame, in.Mode, err = d.explains().First(&f); err == nil {
			foretold, err = d.foretell(f)
		}
		return err
	}))
	in.Octets = f.Packet().Between(packets.RouterMAC, packets.GatewayPublicMAC).Bytes()
	counters, seen := d.counters(), d.seen()
	d.must(d.namespace.Do(func() error {
		_, _, err := dataplane.Inject(d.data, in)
		return err
	}))
	after, now := d.counters(), d.seen()
	changed := map[model.Reason]bool{}
	for reason := range after {
		if after[reason] != counters[reason] {
			changed[reason] = true
		}
	}
	really := map[uint32]uint64{}
	for number := range now {
		if now[number] != seen[number] {
			really[number] = now[number] - seen[number]
		}
	}
	d.met(foretold)
	if slices.ContainsFunc(foretold, func(o outcome) bool { return o.is(changed, really) }) {
		return
	}
	o := foretold[0]
	difference := fmt.Sprintf("%s %s from %s port %d to %s port %d: explained %s, and then it ended with %v; asked were %v, and then %v",
		f.Direction, f.Protocol, f.Source, f.From, f.Destination, f.Port, said(o.Explanation), changed, o.asked, really)
	switch {
	case d.clocked && ticked(began):
		d.undecided++
	case len(foretold) > 1:
		d.t.Logf("by a random port: %s\n%s", difference, d.text)
		d.unforetold++
	default:
		d.t.Error(difference)
	}
}

// outcome is what a flow was explained to come to.
type outcome struct {
	api.Explanation
	asked map[uint32]uint64 // how often functions, by their numbers
}

// foretell explains a flow as First has made it. A host that cannot keep its own port gets a random one, by which the chains
// may go that a hairpin flow meets next. All but that port is compared: the flow is explained by more ports, until one lies on
// either side of those that match and condition draw.
func (d *differential) foretell(f explain.Flow) (list []outcome, err error) {
	const most = 64 // for no port of either side may be left
	for below, above := false, false; len(list) < most && (!below || !above); {
		x, err := d.explains().Explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port, Direction: f.Direction})
		if err != nil {
			return nil, err
		}
		o := outcome{x, map[uint32]uint64{}}
		for _, s := range x.Steps {
			if s.Step == "cookie" { // others are asked when it comes back
				o.Reason, o.Passes = model.ReasonAnsweredCookie, true
				break
			}
			if number, is := d.view.Load().numbers[s.Step]; is {
				o.asked[number]++
			}
		}
		list = append(list, o)
		port := o.hairpinPort()
		if port == 0 || port == f.From {
			break
		}
		below, above = below || port < firstSourcePort, above || port > lastSourcePort
	}
	return list, nil
}

// hairpinPort is the one that a flow has when it comes in again, 0 where it does not, or has none.
func (o outcome) hairpinPort() (port uint16) {
	for _, s := range o.Steps {
		if at := strings.LastIndexByte(s.Why, ':'); s.Step == "hairpin" && at >= 0 {
			_, _ = fmt.Sscan(s.Why[at+1:], &port)
		}
	}
	return port
}

// ends are the reasons that it may end with: an explanation does not tell some apart.
func (o outcome) ends() []model.Reason {
	if o.Reason == "" && o.Passes {
		return []model.Reason{model.ReasonForwarded, model.ReasonForwardedByStack, model.ReasonForwardedNoNeighbour}
	}
	return []model.Reason{o.Reason}
}

// is reports whether this is what a packet came to, by the reasons that were counted and by how often functions were asked.
func (o outcome) is(changed map[model.Reason]bool, really map[uint32]uint64) bool {
	if !slices.ContainsFunc(o.ends(), func(r model.Reason) bool { return changed[r] }) {
		return false
	}
	if len(changed) == 1 {
		return maps.Equal(o.asked, really)
	}
	for number, times := range o.asked { // it was answered, and so was the answer judged
		if really[number] < times {
			return false
		}
	}
	return true
}

// ticked reports whether a tick of connlimit has begun since then, or a second of rates, which is eight of them: that lags
// behind, as the kernel's coarse clock does, by a jiffy.
func ticked(since model.Instant) bool {
	const tick = 1 << 27 // nanoseconds
	return since.Add(-10*time.Millisecond)/tick != datapath.Now()/tick
}

func (d *differential) counters() map[model.Reason]uint64 {
	d.t.Helper()
	counters, err := d.data.Counters()
	d.must(err)
	return counters
}
