package ruleset

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Numbers are those under which the data plane counts what functions do. A
// function keeps its own as long as chain and function have their names, and most do
// where others come or go.
type Numbers map[string]uint32

// NewNumbers gives each function of a configuration its own.
func NewNumbers(of *config.Config) (Numbers, error) {
	var names []string
	for _, f := range ProtectionFunctions(of) {
		names = append(names, Name(model.ProtectionName, f))
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
	// Kept is what the daemon keeps for a function beside its tables.
	Kept func(function string) any
	// Own are the gateway's own addresses, which are remote ends where a private host
	// reaches another by its public address.
	Own  []netip.Addr
	Hops []netip.Addr // next hops
}

// Judge reports whether there is anything that judges flows.
func (r Rules) Judge() bool { return len(r.Config.Chains) > 0 || r.Config.Protection.Given() }

// Policy is what they are for the engine.
func (r Rules) Policy() nf.Policy {
	n := NamedIn(r.Config, r.Lists)
	policy := nf.Policy{Protection: n.protection(r), Chains: make([]nf.Chain, len(r.Config.Chains))}
	for i, ch := range r.Config.Chains {
		policy.Chains[i] = nf.Chain{Name: ch.Name, Rules: n.matchRules(ch.Matches), Steps: n.stepsOf(r, ch), Dnat: ch.Dnat}
	}
	return policy
}

func (n Named) stepsOf(r Rules, ch settings.Chain) (steps []nf.Step) {
	names := names{n, r.Kept}
	for _, f := range ch.Functions {
		name := Name(ch.Name, f.Name)
		step := nf.Step{Name: name, Number: r.Numbers[name], Function: f.Settings.Function(name, names), FailOpen: f.Fail == settings.FailOpen}
		if j, jumps := f.Settings.(nf.Jumper); jumps {
			step.Jumps = []int{slices.IndexFunc(r.Config.Chains, func(other settings.Chain) bool { return other.Name == j.Chain() })}
		}
		steps = append(steps, step)
	}
	return steps
}

// matchRules are the rules by which a chain is found.
func (n Named) matchRules(matches []settings.Match) (rules []nf.Rule) {
	for _, m := range matches {
		ends := n.endsOf(m)
		if len(ends) == 0 {
			rules = append(rules, m.Rules(m.Direction, n, nil)...)
		}
		for i := range ends {
			rules = append(rules, m.Rules(m.Direction, n, &ends[i])...)
		}
	}
	return rules
}

// Matches says what finds a chain, for people.
func Matches(matches []settings.Match) (said []map[string]string) {
	for _, m := range matches {
		said = append(said, matchOf(m))
	}
	return said
}

// matchOf leaves out what matches all.
func matchOf(m settings.Match) map[string]string {
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
	add("source_port", m.SourcePorts.String(), m.SourcePorts != model.Ports{})
	add("host", m.Host.String(), m.Host != "")
	add("service", m.Service.String(), m.Service != "")
	return said
}
