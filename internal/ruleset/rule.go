package ruleset

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Numbers are those under which the data plane counts what functions do. A
// function keeps its own as long as chain and function have their names, and most do
// where others come or go.
type Numbers map[string]uint32

// NewNumbers gives each function of a configuration its own.
func NewNumbers(of *config.Config) (Numbers, error) {
	var names []string
	for _, f := range ProtectionFunctions(of) {
		names = append(names, Name(config.ProtectionName, f))
	}
	for _, ch := range of.Chains {
		for _, f := range ch.Functions {
			names = append(names, Name(ch.Name, f.Name))
		}
	}
	if len(names) >= datapath.MostCounts {
		return nil, fmt.Errorf("chains: more than %d functions in all", datapath.MostCounts-1)
	}
	c, taken := Numbers{}, map[uint32]bool{0: true} // 0 is no function
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

// Name is how a function of a chain is called where there are others.
func Name(chain, function string) string { return chain + "/" + function }

// Rules are what there is to compile.
type Rules struct {
	Config  *config.Config
	Lists   map[string]*model.AddressSet // of the lists that have any addresses
	Numbers Numbers
	// Denied are the addresses that the geofence of a direction denies, nil where there is none.
	Denied func(model.Direction) *model.AddressSet
	// Paths are the backends of a function "multipath".
	Paths func(function string) *chain.Paths
	// Own are the gateway's own addresses, which are remote ends where a private host
	// reaches another by its public address.
	Own  []netip.Addr
	Hops []netip.Addr // next hops
}

// Judge reports whether there is anything that judges flows.
func (r Rules) Judge() bool { return len(r.Config.Chains) > 0 || r.Config.Protection.Given() }

// Policy is what they are for the engine.
func (r Rules) Policy() chain.Policy {
	n := NamedIn(r.Config, r.Lists)
	policy := chain.Policy{Protection: n.protection(r), Chains: make([]chain.Chain, len(r.Config.Chains))}
	for i, ch := range r.Config.Chains {
		policy.Chains[i] = chain.Chain{Name: ch.Name, Rules: n.matchRules(ch.Matches), Steps: n.stepsOf(r, ch), Static: ch.Static}
	}
	return policy
}

func (n Named) stepsOf(r Rules, ch config.Chain) (steps []chain.Step) {
	for _, f := range ch.Functions {
		name := Name(ch.Name, f.Name)
		step := chain.Step{Name: name, Number: r.Numbers[name], Function: n.functionOf(f, name, r), FailOpen: f.Fail == config.FailOpen}
		if f.Use == config.UseJump {
			step.Jumps = []int{slices.IndexFunc(r.Config.Chains, func(other config.Chain) bool { return other.Name == f.Jump.Chain })}
		}
		steps = append(steps, step)
	}
	return steps
}

// functionOf is a function as it is to be compiled; name is what it is called.
func (n Named) functionOf(f config.Function, name string, r Rules) chain.Function {
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
		return chain.Multipath{Paths: r.Paths(name)}
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
func (n Named) matchRules(matches []config.Match) (rules []chain.Rule) {
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

func (n Named) conditionRules(conditions []config.Condition) (rules []chain.Rule) {
	for _, c := range conditions {
		rules = append(rules, n.rulesOf(model.AnyDirection, c, nil)...)
	}
	return rules
}

// rulesOf says a condition as rules. Its remote end, and the private one, are where
// flows go or where they come from: that takes a rule for each direction.
func (n Named) rulesOf(direction model.Direction, c config.Condition, private *end) (rules []chain.Rule) {
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

// Matches says what finds a chain, for people.
func Matches(matches []config.Match) (said []map[string]string) {
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
