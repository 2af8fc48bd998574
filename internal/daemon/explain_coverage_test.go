package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/nf/functions"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// coverage is what the flows of TestExplainDifferential have met.
type coverage struct {
	ends      map[string]int // by reason, and which function said so
	verdicts  map[string]int // by function, and what it said
	flows     int
	undecided int // of these: differences for which time may be the reason
	random    int // those that got a random port
	// Of these, those that came to what no port was explained to lead to.
	unforetold int
}

func newCoverage() coverage {
	return coverage{ends: map[string]int{}, verdicts: map[string]int{}}
}

// join adds what other flows have met.
func (c *coverage) join(other coverage) {
	for end, flows := range other.ends {
		c.ends[end] += flows
	}
	for verdict, times := range other.verdicts {
		c.verdicts[verdict] += times
	}
	c.flows, c.undecided, c.random, c.unforetold = c.flows+other.flows, c.undecided+other.undecided, c.random+other.random, c.unforetold+other.unforetold
}

func (c coverage) String() string {
	return fmt.Sprintf("%d flows, %d undecided, %d by a random port, of these %d otherwise than explained\nends %v\nverdicts %v", c.flows, c.undecided, c.random, c.unforetold, c.ends, c.verdicts)
}

// met counts what a flow was explained to meet.
func (d *differential) met(foretold []outcome) {
	first := foretold[0]
	d.flows++
	if len(foretold) > 1 {
		d.random++
	}
	d.ends[strings.TrimSpace(fmt.Sprint(first.ends()[0], " ", d.use(first.Function)))]++
	for _, s := range first.Steps {
		if _, is := d.view.Load().numbers[s.Step]; is {
			d.verdicts[d.use(s.Step)+" "+s.Says]++
		}
	}
}

// use is what a function of a chain is of, whose name is of its place.
func (d *differential) use(function string) string {
	for _, c := range d.view.Load().config.Chains {
		for _, f := range c.Functions {
			if ruleset.Name(c.Name, f.Name) == function {
				return f.Use
			}
		}
	}
	return function
}

// Met at least once by so many flows of 100 for each configuration, of which the second are met seldom.
const manyFlows, mostFlows = 4_000, 40_000

var (
	manyEnds = strings.Fields("forwarded forwarded_ipv6 answered_cookie to_gateway inside_to_inside drop_banned drop_no_binding drop_ipv6 drop_multicast drop_no_mapping drop_not_for_us drop_spoofed_source drop_denied:filter")
	mostEnds = strings.Fields("answered_honeypot:protection/honeypot drop_honeypot:protection/honeypot drop_bad_address drop_filtered drop_no_session drop_session_conflict drop_no_reservation " +
		"drop_host_sessions drop_host_rate drop_remote_rate drop_denied:rate-limit drop_denied:dos-denial drop_denied:connlimit drop_denied:protection/blocklist drop_denied:protection/geofence drop_denied:" + ownFile)
	manyVerdicts = strings.Fields("filter:continue filter:drop rate-limit:continue dos-denial:continue connlimit:continue jump:jump mirror:continue first-bytes:continue ask:fail dnat:continue " +
		"protection/allowlist:continue protection/blocklist:continue protection/blocklist:drop protection/ports:continue protection/honeypot:continue protection/geofence:continue")
	mostVerdicts = strings.Fields("multipath:continue " + ownFile + ":continue rate-limit:drop dos-denial:drop connlimit:drop jump:continue protection/honeypot:drop protection/geofence:drop " + ownFile + ":drop")
)

// lacks tells what so many flows should have met, and where too few were compared.
func (c coverage) lacks() (lacks []string) {
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	const fewTicks = 5
	if c.undecided > max(c.flows/100, fewTicks) {
		lack("%d of %d flows are undecided", c.undecided, c.flows)
	}
	if c.unforetold > c.random/1000 { // a port between the others comes to one in 6,000
		lack("%d of %d flows by a random port came to what no port was explained to lead to", c.unforetold, c.random)
	}
	want := func(least int, met map[string]int, all []string) {
		for _, one := range all {
			if c.flows >= least && met[strings.Replace(one, ":", " ", 1)] == 0 {
				lack("%d flows, and none met %s", c.flows, one)
			}
		}
	}
	want(manyFlows, c.ends, manyEnds)
	want(mostFlows, c.ends, mostEnds)
	want(manyFlows, c.verdicts, manyVerdicts)
	want(mostFlows, c.verdicts, mostVerdicts)
	for _, k := range functions.All {
		use := k.Word
		if k.Path != nil {
			use = ownFile
		}
		if !slices.ContainsFunc(slices.Concat(manyVerdicts, mostVerdicts), func(v string) bool { return strings.HasPrefix(v, use+":") }) {
			lack("nobody draws %s", use)
		}
	}
	return lacks
}

// What the flows of TestExplainDifferential do not meet fails it.
func TestExplainCoverage(t *testing.T) {
	t.Parallel()
	full := func() coverage {
		c := newCoverage()
		for _, list := range [][]string{manyEnds, mostEnds} {
			for _, end := range list {
				c.ends[strings.Replace(end, ":", " ", 1)] = 1
			}
		}
		for _, list := range [][]string{manyVerdicts, mostVerdicts} {
			for _, verdict := range list {
				c.verdicts[strings.Replace(verdict, ":", " ", 1)] = 1
			}
		}
		c.flows, c.random, c.undecided = mostFlows, 2_000, mostFlows/100
		return c
	}
	for what, c := range map[string]struct {
		change func(*coverage)
		lacks  int
	}{
		"all":                 {func(*coverage) {}, 0},
		"too many ticks":      {func(c *coverage) { c.undecided++ }, 1},
		"few, of few flows":   {func(c *coverage) { c.flows, c.undecided = 180, 5 }, 0},
		"an end":              {func(c *coverage) { delete(c.ends, "forwarded") }, 1},
		"a function":          {func(c *coverage) { c.flows, c.undecided = manyFlows, 0; delete(c.verdicts, "mirror continue") }, 1},
		"a seldom verdict":    {func(c *coverage) { delete(c.verdicts, "jump continue") }, 1},
		"that, of less flows": {func(c *coverage) { c.flows, c.undecided = manyFlows, 0; delete(c.verdicts, "jump continue") }, 0},
		"random ports":        {func(c *coverage) { c.unforetold = 3 }, 1},
	} {
		all := full()
		if c.change(&all); len(all.lacks()) != c.lacks {
			t.Errorf("%s: %q", what, all.lacks())
		}
	}
}
