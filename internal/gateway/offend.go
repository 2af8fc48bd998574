package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/protect/ban"
	"github.com/realmgate/realmgate/internal/protect/geo"
)

const (
	// tellAgain is how often the log says of an address that it is not banned.
	tellAgain = time.Hour
	// mostTold is of how many addresses it is known that the log has said so. Beyond that
	// it begins anew.
	mostTold = 4096
)

// offence is what an address did.
type offence struct {
	address netip.Addr
	reason  string // for people
}

// offend bans addresses that offend now, and returns how many bans that makes. The first
// ban of each lasts for base, further ones longer. Who is banned for longer already stays
// so; who may not be banned is skipped, and the log says so once in a while. The bans hold
// also where the disk does not take them. With an error nobody was banned, or the kernel
// takes the bans later.
func (g *Gateway) offend(offences []offence, base time.Duration) (int, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	guard, err := g.guardBans()
	if err != nil {
		return 0, err
	}
	v, now := g.view.Load(), g.bansNow()
	rules := v.config.Bans
	growth := ban.Growth{Factor: rules.Factor, Cap: rules.Cap, Memory: rules.Memory}
	var made []ban.Ban
	records := map[netip.Prefix]ban.Record{}
	for _, o := range offences {
		unit, err := offender(o.address, guard)
		if err != nil {
			g.tellSpared(now, o, err)
			continue
		}
		if _, twice := records[unit]; twice {
			continue
		}
		multiplier := v.places.banFactor(rules.Regions, o.address)
		r := g.bans.offences.Next(now, unit, rules.Memory, func(n int) time.Duration { return growth.Lasts(base, multiplier, n) })
		records[unit] = r
		b := ban.Ban{Prefix: unit, Since: now, Until: r.Until, Reason: o.text(unit, r.Count), Offence: r.Count}
		if !g.bans.list.Outlasts(b) && !g.subnetOutlasts(b) {
			made = append(made, b)
		}
	}
	made, instead := g.widen(made, rules.Subnet, guard)
	gone, err := g.bans.list.Room(made, instead)
	if err != nil {
		return 0, err
	}
	g.noteMade(made, records)
	g.bans.unsaved.bans.Remove(slices.Concat(instead, gone))
	g.bans.unsaved.offences.Remove(g.bans.offences.Put(now, rules.Memory, records))
	err = g.enforce(made, instead, gone)
	g.saveBans() // last: no attack goes on until a slow disk has it
	if err != nil {
		return 0, err
	}
	return len(made), nil
}

// text is the reason of the ban that is made for an nth offence.
func (o offence) text(unit netip.Prefix, n int) string {
	if unit.IsSingleIP() {
		return fmt.Sprintf("%s, offence %d", o.reason, n)
	}
	return fmt.Sprintf("%s, offence %d, by %s", o.reason, n, o.address)
}

// offender is what an address is banned as: of IPv6 its /64, unless somebody is there who
// must not be banned.
func offender(a netip.Addr, guard *guard) (netip.Prefix, error) {
	if !a.IsValid() {
		return netip.Prefix{}, fmt.Errorf("there is no address")
	}
	unit := model.OffenderOf(a)
	err := guard.why(unit)
	if err != nil && !unit.IsSingleIP() {
		a = a.WithZone("")
		unit = netip.PrefixFrom(a, a.BitLen())
		err = guard.why(unit)
	}
	if err != nil {
		return unit, fmt.Errorf("%s cannot be banned: %w", unit, err)
	}
	return unit, nil
}

func (g *Gateway) subnetOutlasts(b ban.Ban) bool {
	subnet, has := ban.SubnetOf(b.Prefix)
	b.Prefix = subnet
	return has && g.bans.list.Outlasts(b)
}

// widen puts bans of whole subnets in the place of those of their addresses, where enough
// of them are banned, and nobody is there who must not be.
func (g *Gateway) widen(made []ban.Ban, most int, guard *guard) (list []ban.Ban, instead []netip.Prefix) {
	asked := map[netip.Prefix]bool{}
	for _, b := range slices.Clone(made) {
		subnet, has := ban.SubnetOf(b.Prefix)
		if !has || asked[subnet] {
			continue
		}
		asked[subnet] = true
		whole, replaced, widened := g.bans.list.Widen(subnet, made, most)
		if !widened || g.bans.list.Outlasts(whole) || guard.why(subnet) != nil {
			continue
		}
		whole.Reason += ", the last: " + b.Reason
		made = append(slices.DeleteFunc(made, func(b ban.Ban) bool { return subnet.Contains(b.Prefix.Addr()) && b.Offence > 0 }), whole)
		instead = append(instead, replaced...)
	}
	return made, instead
}

// tellSpared says that an offender is not banned, unless it has been said lately.
func (g *Gateway) tellSpared(now time.Time, o offence, why error) {
	if last, told := g.bans.told[o.address]; told && now.Sub(last) < tellAgain {
		return
	}
	if g.bans.told == nil || len(g.bans.told) == mostTold {
		g.bans.told = map[netip.Addr]time.Time{}
	}
	g.bans.told[o.address] = now
	g.log.Warn("an offender is not banned", "address", o.address, "offence", o.reason, "error", why, "again_in", tellAgain)
}

// banFactor is by how much bans of an address are longer by where it is: its ASN counts
// before its country, and that before its continent.
func (p places) banFactor(regions []config.BanRegion, a netip.Addr) float64 {
	if len(regions) == 0 {
		return 1
	}
	place := p.table.Lookup(a.Unmap().WithZone(""))
	for _, is := range []func(model.Region) bool{
		func(r model.Region) bool { return r.ASN() != 0 && r.ASN() == place.ASN },
		func(r model.Region) bool { return r.Country() != "" && r.Country() == place.Country },
		func(r model.Region) bool { return r.Continent() != "" && r.Continent() == place.Continent },
	} {
		if i := slices.IndexFunc(regions, func(r config.BanRegion) bool { return is(r.Region) }); i >= 0 {
			return regions[i].Factor
		}
	}
	return 1
}

// knowsBanRegions wants the table to have what bans are made longer by.
func knowsBanRegions(table *geo.Table, regions []config.BanRegion) error {
	for _, r := range regions {
		if err := knowsRegion(table, r.Region); err != nil {
			return err
		}
	}
	return nil
}
