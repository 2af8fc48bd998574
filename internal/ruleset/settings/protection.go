package settings

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Addresses are whom the protection leaves alone or drops before the rest of it is asked.
type Addresses struct {
	Allowlist []Listed      // left alone by the rest of it, and never banned
	Blocklist []Listed      // dropped
	Ignored   model.PortSet // honeypot and geofences are not asked about flows to these
}

// Listed are addresses that flows from outside come from (model.In), that flows from
// inside go to (model.Out), or both: a prefix, a set, or a list.
type Listed struct {
	Direction model.Direction
	Remote    netip.Prefix
	Set       string
	List      string
}

const mostListed = 1024 // of a list

// AddressesDraft is `protection.allowlist`, `protection.blocklist` and `protection.ignored_ports`.
type AddressesDraft struct {
	addresses             *Addresses
	setsNamed, listsNamed []schema.Named
	ignored               schema.Ports
}

// NewAddresses makes a draft whose values go to addresses.
func NewAddresses(addresses *Addresses) *AddressesDraft { return &AddressesDraft{addresses: addresses} }

// Keys implements schema.Draft.
func (d *AddressesDraft) Keys() []schema.Key {
	return []schema.Key{
		d.listed("allowlist", &d.addresses.Allowlist),
		d.listed("blocklist", &d.addresses.Blocklist),
		schema.Section("ignored_ports", d.ignored.Keys()...),
	}
}

// Finish implements schema.Draft.
func (d *AddressesDraft) Finish(*schema.Faults) { d.addresses.Ignored = d.ignored.Set() }

// Sets are the places that name a set.
func (d *AddressesDraft) Sets() []schema.Named { return d.setsNamed }

// EachPort calls each for the ports that are ignored.
func (d *AddressesDraft) EachPort(protocol model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	for _, p := range d.ignored.Of(protocol) {
		each(p.Value, "%s.ignored_ports.%s has %s at line %d", model.ProtectionName, protocol, p.Value, p.Line)
	}
}

// listed is a key with a list of addresses, sets and lists; one that is only an address
// or a prefix is for both directions.
func (d *AddressesDraft) listed(name string, target *[]Listed) schema.Key {
	keys := func(l *Listed, setLine, listLine *int) []schema.Key {
		return []schema.Key{
			schema.One("direction", &l.Direction, schema.Choice(model.In, model.Out, model.AnyDirection)),
			schema.One("remote", &l.Remote, schema.AnyNetwork()).Otherwise("none"),
			schema.OneAt("set", &l.Set, setLine, schema.Label()).Otherwise("none"),
			schema.OneAt("list", &l.List, listLine, schema.Label()).Otherwise("none"),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: keys(new(Listed), new(int), new(int)), Item: schema.AnyNetwork().Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			items := schema.Elements(faults, node, path, want, 1)
			if len(items) > mostListed {
				faults.Add(node.Line, "%s: there are %d entries, at most %d are allowed: put addresses into a set", path, len(items), mostListed)
				return
			}
			for i, item := range items {
				l, full := Listed{}, fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := schema.ReadValue(faults, item, full, schema.AnyNetwork())
					if l.Remote = value; !ok {
						continue
					}
				} else {
					setLine, listLine := 0, 0
					schema.ReadSection(faults, item, full, item.Line, keys(&l, &setLine, &listLine))
					d.noteListed(faults, item.Line, full, l, setLine, listLine)
				}
				*target = append(*target, l)
			}
		},
	}
}

// noteListed checks that an entry says one thing, and notes which set or list it names.
func (d *AddressesDraft) noteListed(faults *schema.Faults, line int, path string, l Listed, setLine, listLine int) {
	given := 0
	for _, is := range []bool{l.Remote.IsValid(), setLine > 0, listLine > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		faults.Add(line, "%s: give remote, set or list", path)
	}
	if setLine > 0 {
		d.setsNamed = append(d.setsNamed, schema.Named{Path: path + ".set", Name: l.Set, Line: setLine})
	}
	if listLine > 0 {
		d.listsNamed = append(d.listsNamed, schema.Named{Path: path + ".list", Name: l.List, Line: listLine})
	}
}

// Lists are the places that name a list.
func (d *AddressesDraft) Lists() []schema.Named { return d.listsNamed }
