package match

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Condition is what flows have in common; zero fields match all.
type Condition struct {
	From, To netip.Prefix // of the first packet; private hosts by their own addresses
	Remote   netip.Prefix // of the end that is not a private host
	Set      string       // of addresses of that end
	Protocol model.Protocol
	Ports    model.Ports // of the destination

	SourcePorts model.Ports
}

// Conditions is a key with a list of conditions; one that is only an address or a prefix is of the remote end. The sets that
// they name go into sets.
func Conditions(name string, target *[]Condition, sets *[]schema.Named) schema.Key {
	keys := func(c *Condition, setLine *int) []schema.Key {
		return []schema.Key{
			schema.One("from", &c.From, schema.Network()).Otherwise("any"), schema.One("to", &c.To, schema.Network()).Otherwise("any"),
			schema.One("remote", &c.Remote, schema.Network()).Otherwise("any"), schema.OneAt("set", &c.Set, setLine, schema.Label()).Otherwise("any"),
			schema.One("protocol", &c.Protocol, schema.AnyProtocol()), schema.One("port", &c.Ports, schema.PortRange()),
			schema.One("source_port", &c.SourcePorts, schema.PortRange()),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: keys(new(Condition), new(int)), Item: schema.Network().Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, want, 1) {
				var c Condition
				full := fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := schema.ReadValue(faults, item, full, schema.Network())
					if c.Remote = value; !ok {
						continue
					}
				} else {
					setLine := 0
					schema.ReadSection(faults, item, full, item.Line, keys(&c, &setLine))
					c.Check(faults, full, item.Line)
					if setLine > 0 {
						*sets = append(*sets, schema.Named{Path: full + ".set", Name: c.Set, Line: setLine})
					}
				}
				*target = append(*target, c)
			}
		},
	}
}

// Check says what contradicts itself in a condition of the file.
func (c Condition) Check(faults *schema.Faults, path string, line int) {
	for key, p := range map[string]model.Ports{"port": c.Ports, "source_port": c.SourcePorts} {
		if p != (model.Ports{}) && c.Protocol == model.ICMP {
			faults.Add(line, "%s: ICMP has no ports: remove %s, or name another protocol", path, key)
		}
	}
	if c.Remote.IsValid() && (c.From.IsValid() || c.To.IsValid()) {
		faults.Add(line, "%s: remote is one of from and to: give it, or those", path)
	}
	if c.Set != "" && (c.From.IsValid() || c.To.IsValid() || c.Remote.IsValid()) {
		faults.Add(line, "%s: a set is of the remote end: give it, or from, to and remote", path)
	}
}
