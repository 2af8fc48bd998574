package ban

import (
	"fmt"
	"net/netip"
)

// subnetBits is the length of the subnets that are banned as a whole.
const subnetBits = 24

// SubnetOf is the subnet that is banned with an offender, where enough of it are. IPv6 has
// none: there an offender is a subnet already.
func SubnetOf(offender netip.Prefix) (subnet netip.Prefix, has bool) {
	if !offender.Addr().Is4() || !offender.IsSingleIP() {
		return subnet, false
	}
	return netip.PrefixFrom(offender.Addr(), subnetBits).Masked(), true
}

// Aggregate returns the ban of a whole subnet in place of those of its offenders, if most or
// more of them are banned with the ones that are about to be. It lasts as long as the
// longest of them. Bans by hand do not count, and stay.
func (l *List) Aggregate(subnet netip.Prefix, made []Ban, most int) (whole Ban, instead []netip.Prefix, aggregated bool) {
	offenders := map[netip.Prefix]Ban{}
	a := subnet.Addr()
	for range 1 << (32 - subnetBits) {
		p := netip.PrefixFrom(a, a.BitLen())
		if b, known := l.bans.Get(p); known && b.Offence > 0 {
			offenders[p] = b
			instead = append(instead, p)
		}
		a = a.Next()
	}
	for _, b := range made {
		if subnet.Contains(b.Prefix.Addr()) {
			offenders[b.Prefix] = b
			whole.Since = b.Since
		}
	}
	if most == 0 || len(offenders) < most {
		return Ban{}, nil, false
	}
	for _, b := range offenders {
		if b.Until.After(whole.Until) {
			whole.Until = b.Until
		}
	}
	whole.Prefix = subnet
	whole.Reason = fmt.Sprintf("%d addresses of it were banned", len(offenders))
	return whole, instead, true
}
