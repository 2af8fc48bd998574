package settings

import (
	"fmt"
	"net/netip"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// maxZoneFile bounds a zone's file.
const maxZoneFile = 16 << 20

// Realm is what the gateway is authoritative for.
type Realm struct {
	Zones      []Zone     // at least one, no name twice; one may lie in another
	Nameserver model.Name // in a zone, or outside all of them
}

// ZoneNames are those of all zones, in the order of the file.
func (r Realm) ZoneNames() []model.Name {
	names := make([]model.Name, len(r.Zones))
	for i, z := range r.Zones {
		names[i] = z.Name
	}
	return names
}

// Zone is one zone.
type Zone struct {
	Name        model.Name
	File        string // of its fixed records (RFC 1035 section 5); "": it has none
	Text        string // what is in the file
	Secondaries []Secondary
	ACME        []model.Name // of keys that may change TXT records of _acme-challenge
}

// Secondary is another server that holds the zone.
type Secondary struct {
	Address netip.AddrPort // IPv4
	Key     model.Name     // one of DNS.Keys
}

type zoneEntry struct {
	zone               Zone
	path               string
	nameLine, fileLine int
	secondaries        []*secondaryEntry
	acme               []schema.At[model.Name]
}

func (z *zoneEntry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &z.zone.Name, &z.nameLine, schema.Domain()).Must(),
		schema.OneAt("file", &z.zone.File, &z.fileLine, schema.FileName()).Otherwise("none"),
		schema.ListOf("secondaries", &z.secondaries, (*secondaryEntry).keys),
		schema.Many("acme", &z.acme, schema.Domain(), 0),
	}
}

type secondaryEntry struct {
	secondary Secondary
	keyLine   int
}

func (s *secondaryEntry) keys() []schema.Key {
	return []schema.Key{
		schema.One("address", &s.secondary.Address, schema.AddressPort(true)).Must(),
		schema.OneAt("key", &s.secondary.Key, &s.keyLine, schema.Domain()).Must(),
	}
}

// zonesKey is the zones, each a name or a section.
func zonesKey(target *[]*zoneEntry) schema.Key {
	name := schema.Domain()
	return schema.Key{
		Name: "zones", Kind: "list of: name or section", Allowed: name.Allowed, Keys: new(zoneEntry).keys(), Item: name.Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, "a list: each entry "+name.Want+", or a mapping", 1) {
				z := &zoneEntry{path: fmt.Sprintf("%s[%d]", path, i)}
				if item.Kind == yaml.MappingNode {
					schema.ReadSection(faults, item, z.path, item.Line, z.keys())
				} else if value, ok := schema.ReadValue(faults, item, path, name); ok {
					z.zone.Name, z.nameLine = value, item.Line
				}
				if z.nameLine > 0 {
					*target = append(*target, z)
				}
			}
		},
	}
}

// Keys are the shared secrets that the file has.
type Keys interface{ HasKey(name model.Name) bool }

// Draft is `realm`.
type Draft struct {
	realm          *Realm
	keys           Keys
	zones          []*zoneEntry
	nameserverLine int
}

// New makes a draft whose values go to realm.
func New(realm *Realm, keys Keys) *Draft { return &Draft{realm: realm, keys: keys} }

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{schema.Section(
		"realm",
		zonesKey(&d.zones).Must(),
		schema.OneAt("nameserver", &d.realm.Nameserver, &d.nameserverLine, schema.Domain()).Must(),
	)}
}

// Finish implements schema.Draft: zones differ, their files are read, and the keys that they name are there.
func (d *Draft) Finish(faults *schema.Faults) {
	wanted := func(name model.Name, line int, path string) {
		if line > 0 && !d.keys.HasKey(name) {
			faults.Add(line, "%s: there is no key %s under dns.keys", path, name)
		}
	}
	once := schema.Once[model.Name]{}
	for _, z := range d.zones {
		for j, s := range z.secondaries {
			wanted(s.secondary.Key, s.keyLine, fmt.Sprintf("%s.secondaries[%d].key", z.path, j))
			z.zone.Secondaries = append(z.zone.Secondaries, s.secondary)
		}
		for _, name := range z.acme {
			wanted(name.Value, name.Line, z.path+".acme")
		}
		z.zone.ACME = schema.Values(z.acme)
		if z.zone.File != "" {
			text, err := schema.ReadBeside(faults.File, z.zone.File, "zone", maxZoneFile)
			if err != nil {
				faults.Add(z.fileLine, "%s.file: %v", z.path, err)
			}
			z.zone.Text = text
		}
		once.Take(faults, "realm.zones", z.zone.Name, z.nameLine)
		d.realm.Zones = append(d.realm.Zones, z.zone)
	}
}

// Path is where the zone's file is, seen from a configuration file's folder.
func (z Zone) Path(configuration string) string { return schema.Beside(configuration, z.File) }

// HasZone reports whether a zone is there, and whether other servers hold it, too.
func (d *Draft) HasZone(name model.Name) (known, copied bool) {
	i := slices.IndexFunc(d.zones, func(z *zoneEntry) bool { return z.zone.Name == name })
	return i >= 0, i >= 0 && len(d.zones[i].secondaries) > 0
}
