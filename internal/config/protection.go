package config

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
)

// ProtectionName is how the functions of the protection are told from those of chains.
const ProtectionName = "protection"

// Protection is asked about every flow before the chain that is for it, in the order of
// its fields.
type Protection struct {
	Allowlist []Listed      // left alone by the rest of it, and never banned
	Blocklist []Listed      // dropped
	Ignored   model.PortSet // honeypot and geofences are not asked about flows to these
	Honeypot  Honeypot
	Monitored model.PortSet // the geofences are asked about these ports alone; empty: about all
	Geofences []Geofence
	GeoTable  string // the file that says where addresses are
}

// Given reports whether there is anything to ask.
func (p Protection) Given() bool {
	return len(p.Allowlist)+len(p.Blocklist)+len(p.Geofences) > 0 || !p.Honeypot.Ports.Empty()
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

type protectionDraft struct {
	protection         Protection
	sets, lists        []setUse
	ignored, monitored portsDraft
	honeypot           honeypotDraft
	geofences          []*geofenceDraft
}

func (d *protectionDraft) keys() []key {
	return []key{
		d.listed("allowlist", &d.protection.Allowlist),
		d.listed("blocklist", &d.protection.Blocklist),
		section("ignored_ports", d.ignored.keys()...),
		noting(&d.honeypot.line, section("honeypot", d.honeypot.keys()...)),
		section("monitored_ports", d.monitored.keys()...),
		one("geo_table", &d.protection.GeoTable, fileName()),
		listOf("geofence", &d.geofences, (*geofenceDraft).keys),
	}
}

// listed is a key with a list of addresses, sets and lists; one that is only an address
// or a prefix is for both directions.
func (d *protectionDraft) listed(name string, target *[]Listed) key {
	keys := func(l *Listed, setLine, listLine *int) []key {
		return []key{
			one("direction", &l.Direction, choice(model.In, model.Out, model.AnyDirection)),
			one("remote", &l.Remote, anyNetwork()).otherwise("none"),
			oneAt("set", &l.Set, setLine, label()).otherwise("none"),
			oneAt("list", &l.List, listLine, label()).otherwise("none"),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return key{
		name: name, kind: "list of sections", standard: "none", keys: keys(new(Listed), new(int), new(int)),
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			items := elements(faults, node, path, want, 1)
			if len(items) > mostListed {
				faults.add(node.Line, "%s: there are %d entries, at most %d are allowed: put addresses into a set", path, len(items), mostListed)
				return
			}
			for i, item := range items {
				l, full := Listed{}, fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := readValue(faults, item, full, anyNetwork())
					if l.Remote = value; !ok {
						continue
					}
				} else {
					setLine, listLine := 0, 0
					readSection(faults, item, full, item.Line, keys(&l, &setLine, &listLine))
					d.noteListed(faults, item.Line, full, l, setLine, listLine)
				}
				*target = append(*target, l)
			}
		},
	}
}

// noteListed checks that an entry says one thing, and notes which set or list it names.
func (d *protectionDraft) noteListed(faults *faultLog, line int, path string, l Listed, setLine, listLine int) {
	given := 0
	for _, is := range []bool{l.Remote.IsValid(), setLine > 0, listLine > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		faults.add(line, "%s: give remote, set or list", path)
	}
	if setLine > 0 {
		d.sets = append(d.sets, setUse{path + ".set", l.Set, setLine})
	}
	if listLine > 0 {
		d.lists = append(d.lists, setUse{path + ".list", l.List, listLine})
	}
}
