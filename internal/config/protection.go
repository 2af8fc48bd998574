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
	Allowlist []Listed // left alone by the rest of it, and never banned
	Blocklist []Listed // dropped
	Geofences []Geofence
	GeoTable  string // the file that says where addresses are
}

// Given reports whether there is anything to ask.
func (p Protection) Given() bool { return len(p.Allowlist)+len(p.Blocklist)+len(p.Geofences) > 0 }

// Listed are addresses that flows from outside come from (model.In), that flows from
// inside go to (model.Out), or both: a prefix, or a set.
type Listed struct {
	Direction model.Direction
	Remote    netip.Prefix
	Set       string
}

type protectionDraft struct {
	protection Protection
	sets       []setUse
	geofences  []*geofenceDraft
}

func (d *protectionDraft) keys() []key {
	return []key{
		listed("allowlist", &d.protection.Allowlist, &d.sets),
		listed("blocklist", &d.protection.Blocklist, &d.sets),
		one("geo_table", &d.protection.GeoTable, fileName()),
		listOf("geofence", &d.geofences, (*geofenceDraft).keys),
	}
}

// listed is a key with a list of addresses and sets; one that is only an address or a
// prefix is for both directions. The sets that they name go into sets.
func listed(name string, target *[]Listed, sets *[]setUse) key {
	keys := func(l *Listed, setLine *int) []key {
		return []key{
			one("direction", &l.Direction, choice(model.In, model.Out, model.AnyDirection)),
			one("remote", &l.Remote, network()).otherwise("none"),
			oneAt("set", &l.Set, setLine, label()).otherwise("none"),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return key{
		name: name, kind: "list of sections", standard: "none", keys: keys(new(Listed), new(int)),
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			for i, item := range elements(faults, node, path, want, 1) {
				l, full := Listed{}, fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := readValue(faults, item, full, network())
					if l.Remote = value; !ok {
						continue
					}
				} else {
					setLine := 0
					readSection(faults, item, full, item.Line, keys(&l, &setLine))
					if (setLine > 0) == l.Remote.IsValid() {
						faults.add(item.Line, "%s: give remote or set", full)
					}
					if setLine > 0 {
						*sets = append(*sets, setUse{full + ".set", l.Set, setLine})
					}
				}
				*target = append(*target, l)
			}
		},
	}
}
