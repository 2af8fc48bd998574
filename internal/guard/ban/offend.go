package ban

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	// tellAgain is how often the log says of an address that it is not banned.
	tellAgain = time.Hour
	// mostTold is of how many addresses it is known that the log has said so. Beyond that
	// it begins anew.
	mostTold = 4096
)

// Offence is what an address did.
type Offence struct {
	Address netip.Addr
	Reason  string // for people
}

// Offend bans addresses that offend now, and returns how many bans that makes. The first
// ban of each lasts for base, further ones longer. Who is banned for longer already stays
// so; who may not be banned is skipped, and the log says so once in a while. The bans hold
// also where the disk does not take them. With an error nobody was banned, or the kernel
// takes the bans later.
func (s *Service) Offend(offences []Offence, base time.Duration) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	guard, err := s.lookAtGuard()
	if err != nil {
		return 0, err
	}
	rules, now := s.Rules(), s.now()
	var made []Ban
	records := map[netip.Prefix]Record{}
	for _, o := range offences {
		unit, err := offender(o.Address, guard)
		if err != nil {
			s.tellExempt(now, o, err)
			continue
		}
		if _, twice := records[unit]; twice {
			continue
		}
		multiplier := rules.Multiplier(o.Address)
		r := s.offences.Next(now, unit, rules.Memory, func(n int) time.Duration { return rules.Lasts(base, multiplier, n) })
		records[unit] = r
		b := Ban{Prefix: unit, Since: now, Until: r.Until, Reason: o.text(unit, r.Count), Offence: r.Count}
		if !s.list.Outlasts(b) && !subnetOutlasts(&s.list, b) {
			made = append(made, b)
		}
	}
	made, instead := s.aggregate(made, rules.Subnet, guard)
	gone, err := s.list.Evict(made, instead)
	if err != nil {
		return 0, err
	}
	s.noteMade(made, records)
	s.unsaved.bans.Remove(slices.Concat(instead, gone))
	s.unsaved.offences.Remove(s.offences.Put(now, rules.Memory, records))
	err = s.enforce(made, instead, gone)
	s.save() // last: no attack goes on until a slow disk has it
	if err != nil {
		return 0, err
	}
	return len(made), nil
}

// text is the reason of the ban that is made for an nth offence.
func (o Offence) text(unit netip.Prefix, n int) string {
	if unit.IsSingleIP() {
		return fmt.Sprintf("%s, offence %d", o.Reason, n)
	}
	return fmt.Sprintf("%s, offence %d, by %s", o.Reason, n, o.Address)
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

// subnetOutlasts reports that a ban of the whole subnet lasts longer.
func subnetOutlasts(list *List, b Ban) bool {
	subnet, has := SubnetOf(b.Prefix)
	b.Prefix = subnet
	return has && list.Outlasts(b)
}

// aggregate puts bans of whole subnets in the place of those of their addresses, where enough
// of them are banned, and nobody is there who must not be.
func (s *Service) aggregate(made []Ban, most int, guard *guard) (list []Ban, instead []netip.Prefix) {
	asked := map[netip.Prefix]bool{}
	for _, b := range slices.Clone(made) {
		subnet, has := SubnetOf(b.Prefix)
		if !has || asked[subnet] {
			continue
		}
		asked[subnet] = true
		whole, replaced, aggregated := s.list.Aggregate(subnet, made, most)
		if !aggregated || s.list.Outlasts(whole) || guard.why(subnet) != nil {
			continue
		}
		whole.Reason += ", the last: " + b.Reason
		made = append(slices.DeleteFunc(made, func(b Ban) bool { return subnet.Contains(b.Prefix.Addr()) && b.Offence > 0 }), whole)
		instead = append(instead, replaced...)
	}
	return made, instead
}

// tellExempt says that an offender is not banned, unless it has been said lately.
func (s *Service) tellExempt(now time.Time, o Offence, why error) {
	if last, told := s.told[o.Address]; told && now.Sub(last) < tellAgain {
		return
	}
	if s.told == nil || len(s.told) == mostTold {
		s.told = map[netip.Addr]time.Time{}
	}
	s.told[o.Address] = now
	s.Log.Warn("offender not banned", "address", o.Address, "offence", o.Reason, "error", why, "again_in", tellAgain)
}
