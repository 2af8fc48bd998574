package rebind

import (
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// local are the addresses that mean a machine nearby wherever they are met: this
// host, private use, shared space, loopback and link-local (RFC 6890, RFC 4193,
// RFC 4291; fec0::/10 is RFC 3879's).
var local = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), // 0.0.0.0 reaches a machine itself
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
}

// embedding are IPv6 addresses that end with an IPv4 address which they lead to:
// compatible, with :: and ::1, and mapped (RFC 4291 §2.5.5), and of NAT64 (RFC 6052).
var embedding = []netip.Prefix{
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("::ffff:0:0/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
}

// Filter says which addresses an answer from outside may not hold.
type Filter struct {
	allowed map[string]bool
	inside  func(netip.Addr) bool
}

// New makes a Filter. Questions for the names allowed and below may be answered
// with any address. inside tells of further addresses that nobody outside may
// lead to, such as the gateway's own; nil knows none.
func New(allowed []model.Name, inside func(netip.Addr) bool) *Filter {
	f := &Filter{allowed: map[string]bool{}, inside: inside}
	for _, name := range allowed {
		f.allowed[string(name)] = true
	}
	return f
}

// Allows reports whether the answer to a question for a name may hold any
// address. The name is in canonical form.
func (f *Filter) Allows(name string) bool {
	for ; name != "" && name != "."; name = parent(name) {
		if f.allowed[name] {
			return true
		}
	}
	return false
}

func parent(name string) string {
	next, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[next:]
}

// Inside returns the first address of a record by which it leads inside: of A and
// AAAA, and the hints of HTTPS and SVCB (RFC 9460 §7.3).
func (f *Filter) Inside(record dns.RR) (address netip.Addr, found bool) {
	for _, octets := range addresses(record) {
		if address, ok := netip.AddrFromSlice(octets); ok && f.leadsInside(address) {
			return address, true
		}
	}
	return netip.Addr{}, false
}

func addresses(record dns.RR) []net.IP {
	switch r := record.(type) {
	case *dns.A:
		return []net.IP{r.A.To4()}
	case *dns.AAAA:
		return []net.IP{r.AAAA.To16()}
	case *dns.HTTPS:
		return hints(&r.SVCB)
	case *dns.SVCB:
		return hints(r)
	}
	return nil
}

func hints(record *dns.SVCB) (list []net.IP) {
	for _, value := range record.Value {
		switch v := value.(type) {
		case *dns.SVCBIPv4Hint:
			for _, hint := range v.Hint {
				list = append(list, hint.To4())
			}
		case *dns.SVCBIPv6Hint:
			list = append(list, v.Hint...)
		}
	}
	return list
}

func (f *Filter) leadsInside(a netip.Addr) bool {
	if slices.ContainsFunc(embedding, func(p netip.Prefix) bool { return a.Is6() && p.Contains(a) }) {
		octets := a.As16()
		a = netip.AddrFrom4([4]byte(octets[12:]))
	}
	return slices.ContainsFunc(local, func(p netip.Prefix) bool { return p.Contains(a) }) || f.inside != nil && f.inside(a)
}

// Clean returns the records without those that lead inside, and the addresses of
// these. The records given stay as they are.
func (f *Filter) Clean(records []dns.RR) (kept []dns.RR, removed []netip.Addr) {
	if !slices.ContainsFunc(records, func(r dns.RR) bool { _, found := f.Inside(r); return found }) {
		return records, nil
	}
	for _, record := range records {
		if address, found := f.Inside(record); found {
			removed = append(removed, address)
			continue
		}
		kept = append(kept, record)
	}
	return kept, removed
}

// Same reports whether two filters take out the same, as far as the names tell.
func (f *Filter) Same(other *Filter) bool {
	if f == nil || other == nil {
		return f == other
	}
	return maps.Equal(f.allowed, other.allowed)
}
