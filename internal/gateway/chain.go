package gateway

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/balance"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// counts are the numbers under which the data plane counts what functions do. A
// function keeps its own as long as chain and function have their names, and most do
// where others come or go.
type counts map[string]uint32

func newCounts(of *config.Config) (counts, error) {
	var names []string
	for _, f := range protectionFunctions(of) {
		names = append(names, countName(config.ProtectionName, f))
	}
	for _, ch := range of.Chains {
		for _, f := range ch.Functions {
			names = append(names, countName(ch.Name, f.Name))
		}
	}
	if len(names) >= datapath.MostCounts {
		return nil, fmt.Errorf("chains: more than %d functions in all", datapath.MostCounts-1)
	}
	c, taken := counts{}, map[uint32]bool{0: true} // 0 is no function
	for _, name := range names {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(name))
		n := hash.Sum32() % datapath.MostCounts
		for taken[n] {
			n = (n + 1) % datapath.MostCounts
		}
		c[name], taken[n] = n, true
	}
	return c, nil
}

func countName(chain, function string) string { return chain + "/" + function }

// judges reports whether a configuration has anything that judges flows.
func judges(c *config.Config) bool { return len(c.Chains) > 0 || c.Protection.Given() }

// buildChains compiles a view's policy when the data plane asks for it; nil
// where there is none.
func buildChains(v *view, states *chain.States) datapath.BuildChains {
	if !judges(v.config) {
		return nil
	}
	policy := policyOf(v)
	return func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
		made, err := chain.Build(policy, chain.Shared(tables), first, states)
		return datapath.Chains{
			XDP: datapath.ChainPrograms(made.XDP), TCX: datapath.ChainPrograms(made.TCX),
			In: made.In, Out: made.Out, Stray: made.Stray, Traps: made.Traps,
		}, err
	}
}

func policyOf(v *view) chain.Policy {
	n := namedIn(v.config, v.lists)
	policy := chain.Policy{Protection: n.protection(v), Chains: make([]chain.Chain, len(v.config.Chains))}
	for i, ch := range v.config.Chains {
		policy.Chains[i] = chain.Chain{Name: ch.Name, Rules: n.matchRules(ch.Matches), Steps: n.stepsOf(v, ch), Static: ch.Static}
	}
	return policy
}

func (n named) stepsOf(v *view, ch config.Chain) (steps []chain.Step) {
	for _, f := range ch.Functions {
		name := countName(ch.Name, f.Name)
		step := chain.Step{Name: name, Number: v.counts[name], Function: n.functionOf(f, v.balances[name]), FailOpen: f.Fail == config.FailOpen}
		if f.Use == config.UseJump {
			step.Jumps = []int{slices.IndexFunc(v.config.Chains, func(other config.Chain) bool { return other.Name == f.Jump.Chain })}
		}
		steps = append(steps, step)
	}
	return steps
}

// functionOf is a function as it is to be compiled; b is that of a "multipath".
func (n named) functionOf(f config.Function, b *balance.Balance) chain.Function {
	switch f.Use {
	case config.UseDoSDenial:
		return chain.DoSDenial{Meter: meterOf(f.Meter)}
	case config.UseRateLimit:
		return chain.RateLimit{Meter: meterOf(f.Meter)}
	case config.UseJump:
		return chain.Jump{When: n.conditionRules(f.Jump.When)}
	case config.UseDnat:
		return chain.Dnat{Address: f.Dnat.To, Port: f.Dnat.Port}
	case config.UseMultipath:
		return chain.Multipath{Paths: b.Paths}
	case config.UseFirstBytes:
		return chain.FirstBytes{Deny: signaturesOf(f.FirstBytes.Deny), Allow: signaturesOf(f.FirstBytes.Allow)}
	case config.UseMirror:
		return chain.Mirror{}
	case config.UseObject:
		return chain.Object{Code: f.Object.Code, Rewrites: f.Object.May == config.MayRewrite, EveryPacket: f.Object.Per == config.PerPacket}
	default:
		return chain.Filter{Deny: n.conditionRules(f.Filter.Deny), Allow: n.conditionRules(f.Filter.Allow)}
	}
}

func signaturesOf(list []config.Signature) []chain.Signature {
	made := make([]chain.Signature, len(list))
	for i, s := range list {
		for _, b := range s.Bytes() {
			made[i] = append(made[i], chain.Byte(b))
		}
	}
	return made
}

func meterOf(m config.Meter) chain.Meter {
	made := chain.Meter{
		Per:  map[config.Per]chain.Per{config.PerFlow: chain.PerFlow, config.PerSource: chain.PerSource, config.PerHost: chain.PerHost, config.PerService: chain.PerService}[m.Per],
		Rate: m.Rate.Second, Window: m.Window, Burst: m.Burst, Entries: m.Entries,
	}
	switch {
	case m.New:
		made.Unit = chain.Sessions
	case m.Mode == config.ModeSYN:
		made.Unit = chain.SYNs
	case m.Rate.Bytes:
		made.Unit = chain.Bytes
	}
	return made
}

// matchRules are the rules by which a chain is found.
func (n named) matchRules(matches []config.Match) (rules []chain.Rule) {
	for _, m := range matches {
		ends := n.endsOf(m)
		if len(ends) == 0 {
			rules = append(rules, n.rulesOf(m.Direction, m.Condition, nil)...)
		}
		for i := range ends {
			rules = append(rules, n.rulesOf(m.Direction, m.Condition, &ends[i])...)
		}
	}
	return rules
}

func (n named) conditionRules(conditions []config.Condition) (rules []chain.Rule) {
	for _, c := range conditions {
		rules = append(rules, n.rulesOf(model.AnyDirection, c, nil)...)
	}
	return rules
}

// rulesOf says a condition as rules. Its remote end, and the private one, are where
// flows go or where they come from: that takes a rule for each direction.
func (n named) rulesOf(direction model.Direction, c config.Condition, private *end) (rules []chain.Rule) {
	rule := chain.Rule{Direction: direction, Source: c.From, Destination: c.To, Protocol: c.Protocol, Ports: c.Ports}
	set := n.sets[c.Set]
	if !c.Remote.IsValid() && set == nil && private == nil {
		return []chain.Rule{rule}
	}
	for _, d := range []model.Direction{model.Out, model.In} {
		if direction != model.AnyDirection && direction != d {
			continue
		}
		r := rule
		r.Direction = d
		remote, inside := &r.Destination, &r.Source
		if d == model.In {
			remote, inside = inside, remote
			r.SourceSet = set
		} else {
			r.DestinationSet = set
		}
		if c.Remote.IsValid() {
			*remote = c.Remote
		}
		if private != nil {
			*inside = netip.PrefixFrom(private.host, private.host.BitLen())
			if private.protocol != model.AnyProtocol {
				r.Protocol = private.protocol
			}
			if private.port > 0 {
				r.Ports = model.Ports{First: private.port, Last: private.port}
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// reportChains says which chains are not as the file has them.
func (g *Gateway) reportChains(s *api.Status) error {
	v := g.view.Load()
	for i, ch := range v.config.Chains {
		if changes := v.changes(i); len(changes) > 0 {
			s.ChangedChains = append(s.ChangedChains, api.ChangedChain{Chain: ch.Name, Changes: changes})
		}
	}
	return nil
}

// Chains implements api.Gateway.
func (g *Gateway) Chains() ([]api.Chain, error) {
	v := g.view.Load()
	counts, err := g.data.Counts()
	if err != nil {
		return nil, err
	}
	list := []api.Chain{}
	did := func(chain, function, use string, priority int) api.Function {
		name := countName(chain, function)
		n := counts[v.counts[name]]
		return api.Function{
			Name: function, Use: use, Priority: priority, Seen: n.Seen, Accepted: n.Accepted, Dropped: n.Dropped,
			Failed: n.Failed, Samples: n.Samples, NsEach: n.Ns / max(1, n.Samples), Backends: v.balances.Backends(name),
		}
	}
	if v.config.Protection.Given() {
		shown := api.Chain{Name: config.ProtectionName, Match: []map[string]string{{}}}
		for _, f := range protectionFunctions(v.config) {
			shown.Functions = append(shown.Functions, did(config.ProtectionName, f, f, 0))
		}
		list = append(list, shown)
	}
	for i, ch := range v.config.Chains {
		shown := api.Chain{Name: ch.Name, Match: matchesOf(ch.Matches), Functions: []api.Function{}, Changes: v.changes(i)}
		for _, f := range ch.Functions {
			shown.Functions = append(shown.Functions, did(ch.Name, f.Name, f.Used(), f.Priority))
		}
		list = append(list, shown)
	}
	return list, nil
}

func matchesOf(matches []config.Match) (said []map[string]string) {
	for _, m := range matches {
		said = append(said, matchOf(m))
	}
	return said
}

// matchOf leaves out what matches all.
func matchOf(m config.Match) map[string]string {
	said := map[string]string{}
	add := func(key, value string, given bool) {
		if given {
			said[key] = value
		}
	}
	add("direction", m.Direction.String(), m.Direction != model.AnyDirection)
	add("from", m.From.String(), m.From.IsValid())
	add("to", m.To.String(), m.To.IsValid())
	add("remote", m.Remote.String(), m.Remote.IsValid())
	add("set", m.Set, m.Set != "")
	add("protocol", m.Protocol.String(), m.Protocol != model.AnyProtocol)
	add("port", m.Ports.String(), m.Ports != model.Ports{})
	add("host", m.Host.String(), m.Host != "")
	add("service", m.Service.String(), m.Service != "")
	return said
}

// prepareCounts begins the counts of functions that are new.
func (g *Gateway) prepareCounts(d *draft) (change, error) {
	if d.before == nil {
		return change{}, nil
	}
	return change{Commit: func() error { return g.clearCounts(d.before.counts, d.counts) }}, nil
}

func (g *Gateway) clearCounts(old, now counts) error {
	for name, number := range now {
		if was, known := old[name]; known && was == number {
			continue
		}
		if err := g.data.ClearCount(number); err != nil {
			return err
		}
	}
	return nil
}
