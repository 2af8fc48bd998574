package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// DefaultGeoTable is the file that says where addresses are.
const DefaultGeoTable = "/var/lib/realmgate/geo.table"

// section is where the keys stand.
const section = model.ProtectionName

// Geofence judges addresses by where they are. The narrowest prefix around an address
// decides, else its ASN, else its country, else its continent.
type Geofence struct {
	Direction model.Direction
	Allow     []Where
	Deny      []Where
	Unknown   Permission // of an address whose country nobody knows
	Default   Permission // of one that nothing names
}

// Where is a region, or a prefix.
type Where struct {
	Region model.Region
	Prefix netip.Prefix
}

// String writes the place as the file has it.
func (w Where) String() string {
	if w.Prefix.IsValid() {
		return w.Prefix.String()
	}
	return w.Region.String()
}

// Permission is what becomes of flows.
type Permission uint8

// Flows pass, or are dropped.
const (
	Allowed Permission = iota
	Denied
)

// String returns the word of the configuration.
func (p Permission) String() string { return schema.Word(int(p), "permission", "allow", "deny") }

type geofence struct {
	Geofence
	allow, deny     []schema.At[Where]
	line, otherwise int // where unknown and default are; 0: missing or wrong
	given           int // where allow or deny is
}

func (d *geofence) keys() []schema.Key {
	g := &d.Geofence
	return []schema.Key{
		schema.One("direction", &g.Direction, schema.Choice(model.In, model.Out, model.AnyDirection)),
		schema.Noting(&d.given, schema.Many("allow", &d.allow, where(), 1)),
		schema.Noting(&d.given, schema.Many("deny", &d.deny, where(), 1)),
		schema.OneAt("unknown", &g.Unknown, &d.line, schema.Choice(Allowed, Denied)).Must(),
		schema.OneAt("default", &g.Default, &d.otherwise, schema.Choice(Allowed, Denied)).Otherwise("deny where `allow` is given, else allow"),
	}
}

// where is a region or a prefix.
func where() schema.Kind[Where] {
	return schema.Kind[Where]{
		Name: "place", Allowed: "as country:FI, continent:EU, asn:64500, 203.0.113.0/24 or 2001:db8::/32",
		Want: "country:FI, continent:EU, asn:64500, or an address or a prefix", Tags: schema.TextTag,
		Show: Where.String,
		Parse: func(text string) (w Where, err error) {
			if w.Prefix, err = model.ParseNetwork(text); !errors.Is(err, model.ErrNoNetwork) {
				return w, err
			}
			if w.Region, err = model.ParseRegion(text); errors.Is(err, model.ErrNoRegion) {
				return w, schema.ErrNoHint
			}
			return w, err
		},
	}
}

// Fences are the geofences, and by what they judge.
type Fences struct {
	Monitored model.PortSet // the geofences are asked about these ports alone; empty: about all
	Geofences []Geofence
	GeoTable  string // the file that says where addresses are
}

// Draft is `protection.monitored_ports`, `protection.geo_table` and `protection.geofence`.
type Draft struct {
	fences    *Fences
	monitored schema.Ports
	geofences []*geofence
}

// New makes a draft whose values go to fences.
func New(fences *Fences) *Draft {
	fences.GeoTable = DefaultGeoTable
	return &Draft{fences: fences}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{
		schema.Section("monitored_ports", d.monitored.Keys()...),
		schema.One("geo_table", &d.fences.GeoTable, schema.FileName()),
		schema.ListOf("geofence", &d.geofences, (*geofence).keys),
	}
}

// Finish implements schema.Draft: each direction has one geofence at most, and no place is both allowed and denied.
func (d *Draft) Finish(faults *schema.Faults) {
	d.fences.Monitored = d.monitored.Set()
	d.finishTable(faults)
	taken := map[model.Direction]int{}
	for i, g := range d.geofences {
		if g.line == 0 {
			continue // unknown is missing, which has been said
		}
		path := fmt.Sprintf("%s.geofence[%d]", section, i)
		for _, direction := range []model.Direction{model.In, model.Out} {
			if g.Direction != model.AnyDirection && g.Direction != direction {
				continue
			}
			if first, twice := taken[direction]; twice {
				faults.Add(g.line, "%s: geofence[%d] is for flows of direction %s already", path, first, direction)
			}
			taken[direction] = i
		}
		if g.given == 0 {
			faults.Add(g.line, "%s: give allow or deny, or both", path)
		}
		allowed := map[Where]bool{}
		for _, w := range g.allow {
			allowed[w.Value] = true
			g.Allow = append(g.Allow, w.Value)
		}
		for _, w := range g.deny {
			if allowed[w.Value] {
				faults.Add(w.Line, "%s: %s is allowed, too", path, w.Value)
			}
			g.Deny = append(g.Deny, w.Value)
		}
		if g.otherwise == 0 && len(g.allow) > 0 {
			g.Default = Denied
		}
		d.fences.Geofences = append(d.fences.Geofences, g.Geofence)
	}
}

// finishTable finds the table beside the configuration file.
func (d *Draft) finishTable(faults *schema.Faults) {
	table := d.fences.GeoTable
	if filepath.IsAbs(table) {
		return
	}
	table, err := filepath.Abs(schema.Beside(faults.File, table))
	if err != nil {
		faults.Add(1, "%s.geo_table: %v", section, err)
	}
	d.fences.GeoTable = table
}
