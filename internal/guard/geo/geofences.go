package geo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/guard/geo/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// Geofences is where addresses are, and what the geofences of a configuration say of that. It is empty where there is none.
type Geofences struct {
	table  *Table
	fences map[model.Direction]fence
}

// fence is the geofence of a direction.
type fence struct {
	policy *Policy
	denied *model.AddressSet
}

// GeofencesOf reads the geo table that a configuration names, and wants it to know what that judges by.
func GeofencesOf(c *config.Config) (p Geofences, err error) {
	if len(c.Protection.Geofences)+len(c.Bans.Regions) == 0 {
		return p, nil
	}
	if p.table, err = openTable(c.Protection.GeoTable); err != nil {
		key := "protection.geofence"
		if len(c.Protection.Geofences) == 0 {
			key = "bans.regions"
		}
		return p, fmt.Errorf("%s: %w", key, err)
	}
	if err := hasBanRegions(p.table, c.Bans.Regions); err != nil {
		return p, fmt.Errorf("bans.regions: %s %w", c.Protection.GeoTable, err)
	}
	p.fences = map[model.Direction]fence{}
	for i := range c.Protection.Geofences {
		g := &c.Protection.Geofences[i]
		if err := hasRegions(p.table, g); err != nil {
			return p, fmt.Errorf("protection.geofence: %s %w", c.Protection.GeoTable, err)
		}
		policy, err := NewPolicy(geofenceRules(g))
		if err != nil {
			return p, fmt.Errorf("protection.geofence: %w", err)
		}
		made := fence{policy, deniedBy(p.table, policy)}
		for _, d := range []model.Direction{model.In, model.Out} {
			if g.Direction == model.AnyDirection || g.Direction == d {
				p.fences[d] = made
			}
		}
	}
	return p, nil
}

// deniedBy are the addresses that a policy denies.
func deniedBy(table *Table, policy *Policy) *model.AddressSet {
	denied := table.Resolve(policy)
	ranges := model.Ranges{V4: denied.V4}
	for _, r := range denied.V6 {
		ranges.V6 = append(ranges.V6, model.AddressRange6{First: r.First.As16(), Last: r.Last.As16()})
	}
	return ranges.Set()
}

// hasRegions wants the table to have what a geofence judges by.
func hasRegions(table *Table, g *settings.Geofence) error {
	for _, w := range slices.Concat(g.Allow, g.Deny) {
		if w.Prefix.IsValid() {
			continue
		}
		if err := hasRegion(table, w.Region); err != nil {
			return err
		}
	}
	return nil
}

func hasRegion(table *Table, r model.Region) error {
	countries, asns := table.Has()
	switch {
	case r.ASN() != 0 && !asns:
		return fmt.Errorf("has no ASNs, so that %s says nothing: give realmgate geo update a source of them", r)
	case r.ASN() == 0 && !countries:
		return fmt.Errorf("has no countries, so that %s says nothing: give realmgate geo update a source of them", r)
	}
	return nil
}

// tableFlag is the flag of realmgate geo update for a table that is not where it usually is.
func tableFlag(path string) string {
	if path == settings.DefaultGeoTable {
		return ""
	}
	return " --table " + path
}

func openTable(path string) (*Table, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no geo table %s: run realmgate geo update SOURCE%s", path, tableFlag(path))
	case err != nil:
		return nil, fmt.Errorf("read the geo table: %w", err)
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	table, err := Load(file)
	if err != nil {
		return nil, fmt.Errorf("read the geo table %s: %w", path, err)
	}
	return table, nil
}

func geofenceRules(g *settings.Geofence) Rules {
	action := map[settings.Permission]Action{settings.Allowed: Allow, settings.Denied: Deny}
	rules := Rules{Unknown: action[g.Unknown], Default: action[g.Default]}
	split := func(list []settings.Where) (regions []model.Region, prefixes []netip.Prefix) {
		for _, w := range list {
			if w.Prefix.IsValid() {
				prefixes = append(prefixes, w.Prefix)
			} else {
				regions = append(regions, w.Region)
			}
		}
		return regions, prefixes
	}
	rules.Allow, rules.AllowPrefixes = split(g.Allow)
	rules.Deny, rules.DenyPrefixes = split(g.Deny)
	return rules
}

// Country is where an address is; empty where nobody knows, or there is no table.
func (p Geofences) Country(a netip.Addr) string {
	if p.table == nil {
		return ""
	}
	return p.table.Lookup(a).Country
}

// Said tells where an address is and what decides about it there.
func (p Geofences) Said(d model.Direction, a netip.Addr) string {
	place := p.table.Lookup(a)
	fence, known := p.fences[d]
	if !known {
		return fmt.Sprintf("%s is %s: there is no geofence for this direction", a, placeText(place))
	}
	_, reason := fence.policy.Decide(place, a)
	return fmt.Sprintf("%s is %s: by %s", a, placeText(place), reason)
}

func placeText(p Place) string {
	switch {
	case p.Special:
		return "for a special purpose"
	case p.Unknown() && p.ASN == 0:
		return "where nobody knows"
	case p.Unknown():
		return fmt.Sprintf("of AS%d, where nobody knows", p.ASN)
	case p.ASN == 0:
		return fmt.Sprintf("in %s, %s", p.Country, p.Continent)
	}
	return fmt.Sprintf("in %s, %s, of AS%d", p.Country, p.Continent, p.ASN)
}

// BanFactor is by how much bans of an address are longer by where it is: its ASN counts
// before its country, and that before its continent.
func (p Geofences) BanFactor(regions []model.RegionFactor, a netip.Addr) float64 {
	if len(regions) == 0 {
		return 1
	}
	place := p.table.Lookup(a.Unmap().WithZone(""))
	for _, is := range []func(model.Region) bool{
		func(r model.Region) bool { return r.ASN() != 0 && r.ASN() == place.ASN },
		func(r model.Region) bool { return r.Country() != "" && r.Country() == place.Country },
		func(r model.Region) bool { return r.Continent() != "" && r.Continent() == place.Continent },
	} {
		if i := slices.IndexFunc(regions, func(r model.RegionFactor) bool { return is(r.Region) }); i >= 0 {
			return regions[i].Factor
		}
	}
	return 1
}

// hasBanRegions wants the table to have what bans are made longer by.
func hasBanRegions(table *Table, regions []model.RegionFactor) error {
	for _, r := range regions {
		if err := hasRegion(table, r.Region); err != nil {
			return err
		}
	}
	return nil
}

// Denied are the addresses that the geofence of a direction denies, nil where there is none.
func (p Geofences) Denied(d model.Direction) *model.AddressSet { return p.fences[d].denied }
