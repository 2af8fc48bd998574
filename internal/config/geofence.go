package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

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

type geofenceDraft struct {
	geofence        Geofence
	allow, deny     []schema.At[Where]
	line, otherwise int // where it begins, and where the default is
	given           int // where allow or deny is
}

func (d *geofenceDraft) keys() []schema.Key {
	g := &d.geofence
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

// finishGeofences checks that each direction has one geofence at most, and that no place
// is both allowed and denied.
func (d *protectionDraft) finishGeofences(faults *schema.Faults) {
	taken := map[model.Direction]int{}
	for i, g := range d.geofences {
		if g.line == 0 {
			continue // unknown is missing, which has been said
		}
		path := fmt.Sprintf("%s.geofence[%d]", ProtectionName, i)
		for _, direction := range []model.Direction{model.In, model.Out} {
			if g.geofence.Direction != model.AnyDirection && g.geofence.Direction != direction {
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
			g.geofence.Allow = append(g.geofence.Allow, w.Value)
		}
		for _, w := range g.deny {
			if allowed[w.Value] {
				faults.Add(w.Line, "%s: %s is allowed, too", path, w.Value)
			}
			g.geofence.Deny = append(g.geofence.Deny, w.Value)
		}
		if g.otherwise == 0 && len(g.allow) > 0 {
			g.geofence.Default = Denied
		}
		d.protection.Geofences = append(d.protection.Geofences, g.geofence)
	}
}

// finishGeoTable finds the table beside the configuration file.
func (d *protectionDraft) finishGeoTable(faults *schema.Faults) {
	table := d.protection.GeoTable
	if filepath.IsAbs(table) {
		return
	}
	table, err := filepath.Abs(filepath.Join(filepath.Dir(faults.File), table))
	if err != nil {
		faults.Add(1, "%s.geo_table: %v", ProtectionName, err)
	}
	d.protection.GeoTable = table
}
