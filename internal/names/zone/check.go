package zone

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// Realm is what the realm puts into a zone beside its file.
type Realm struct {
	Lent        []model.Name // names that get pool addresses; wildcards as "*.shop.foo.example."
	Web         []model.Name // names that have web addresses, likewise
	Nameserver  model.Name   // this server's name, in this zone or elsewhere
	Address     netip.Addr   // its address
	Secondaries bool         // other servers hold copies of the zone

	Pool map[netip.Addr]bool // the addresses that are lent
}

// Check finds what in the file contradicts the realm. The error joins one
// *Problem for each. name is the zone's, as z may be nil.
func Check(z *Zone, name model.Name, realm Realm) error {
	c := &checker{zone: z, realm: realm, named: map[string]string{}}
	for _, lent := range realm.Lent {
		c.named[string(lent)] = "lent by this realm"
	}
	for _, name := range realm.Web {
		c.named[string(name)] = "at a web address of this realm"
	}
	c.secondaries(name)
	if z != nil {
		c.delegations()
		for _, r := range z.records {
			c.record(r)
		}
	}
	return errors.Join(c.problems...)
}

type checker struct {
	zone     *Zone
	realm    Realm
	named    map[string]string // how a name of the realm has an address, by the name
	problems []error
}

func (c *checker) note(line int, format string, arguments ...any) {
	if c.zone == nil {
		c.zone = &Zone{file: "zone"}
	}
	c.problems = append(c.problems, c.zone.problem(line, format, arguments...))
}

// secondaries: what they hold says of a lent name only who knows more, by a
// delegation, and neither the apex nor a wildcard can be delegated.
func (c *checker) secondaries(name model.Name) {
	if !c.realm.Secondaries {
		return
	}
	for _, lent := range c.realm.Lent {
		switch {
		case lent == name:
			c.note(0, "the apex %s is lent, and cannot be beside secondaries: a zone cannot delegate its own name; "+
				"publish it by a name below it, or without secondaries", name)
		case strings.HasPrefix(string(lent), "*."):
			c.note(0, "the wildcard %s is lent, and cannot be beside secondaries: a wildcard cannot be delegated (RFC 4592 §4.2); "+
				"list its names, or do without secondaries", lent)
		}
	}
}

// delegations: what is delegated is not ours to answer for.
func (c *checker) delegations() {
	for _, name := range append(slices.Concat(c.realm.Lent, c.realm.Web), c.realm.Nameserver) {
		cut, servers, ok := c.zone.Cut(string(name))
		if !ok || !name.In(c.zone.name) {
			continue
		}
		c.note(c.line(servers[0]), "the zone %s is delegated, but %s is this server's to answer for", cut, name)
	}
	if how := c.named[string(c.realm.Nameserver)]; how != "" {
		c.note(0, "%s is the name server's name and is %s: give one of them another name", c.realm.Nameserver, how)
	}
}

func (c *checker) line(rr dns.RR) int {
	for _, r := range c.zone.records {
		if r.rr == rr {
			return r.line
		}
	}
	return 0
}

func (c *checker) record(r record) {
	h := r.rr.Header()
	name := dns.CanonicalName(h.Name)
	switch rr := r.rr.(type) {
	case *dns.A:
		c.address(r, name, rr.A)
	case *dns.AAAA:
		c.address(r, name, rr.AAAA)
	case *dns.CNAME:
		if c.named[name] != "" || name == string(c.realm.Nameserver) {
			c.note(r.line, "a CNAME of %s, which is this realm's: leave the record out, or take the name out of hosts", h.Name)
		}
	case *dns.NS:
		c.server(r, dns.CanonicalName(rr.Ns))
	case *dns.SVCB:
		c.hints(r, name, rr)
	case *dns.HTTPS:
		c.hints(r, name, &rr.SVCB)
	}
}

// address: a fixed address beside a lent one would send some clients past the
// gateway, and one of the pool to whoever has it just then.
func (c *checker) address(r record, name string, ip net.IP) {
	h, address := r.rr.Header(), addressOf(ip)
	switch {
	case c.named[name] != "":
		c.note(r.line, "%s of %s, which is %s: leave the record out, or take the name out of hosts",
			dns.Type(h.Rrtype), h.Name, c.named[name])
	case name == string(c.realm.Nameserver) && address.Is4() && address != c.realm.Address:
		c.note(r.line, "%s is this server, whose address is %s: leave the record out", h.Name, c.realm.Address)
	case c.realm.Pool[address]:
		c.note(r.line, "%s of %s is %s, which is in pool.addresses: publish the name in hosts, or take the address out of the pool",
			dns.Type(h.Rrtype), h.Name, address)
	}
}

// addressOf takes an IPv4 address in an IPv6 one for what it is, as clients do.
func addressOf(ip net.IP) netip.Addr {
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap()
}

// server: a name server of this zone or of one that is delegated needs an
// address that stays, and is no alias (RFC 2181 §10.3).
func (c *checker) server(r record, target string) {
	if !dns.IsSubDomain(string(c.zone.name), target) || target == string(c.realm.Nameserver) {
		return
	}
	cut, _, below := c.zone.Cut(target)
	switch node := c.zone.Node(target); {
	case c.named[target] != "":
		c.note(r.line, "the name server %s is %s: it needs an address of its own", target, c.named[target])
	case len(node.Set(dns.TypeCNAME)) > 0:
		c.note(r.line, "the name server %s is a CNAME (RFC 2181 §10.3)", target)
	case below && cut != dns.CanonicalName(r.rr.Header().Name):
		// The delegation that it is in has its address.
	case len(c.zone.Addresses(target)) == 0:
		c.note(r.line, "the name server %s has no address in this file", target)
	}
}

// hints: a client that takes the address from a hint has asked nobody for it.
func (c *checker) hints(r record, name string, rr *dns.SVCB) {
	target := dns.CanonicalName(rr.Target)
	if target == "." {
		target = name
	}
	for _, value := range rr.Value {
		hints, given := hintsOf(value)
		inPool := slices.IndexFunc(hints, func(ip net.IP) bool { return c.realm.Pool[addressOf(ip)] })
		switch {
		case given && c.named[target] != "":
			c.note(r.line, "%s with %s for %s, which is %s and has an address when it is asked for: leave the hint out",
				dns.Type(r.rr.Header().Rrtype), value.Key(), target, c.named[target])
		case inPool >= 0:
			c.note(r.line, "%s of %s with %s=%s, which is in pool.addresses: leave the hint out, or take the address out of the pool",
				dns.Type(r.rr.Header().Rrtype), r.rr.Header().Name, value.Key(), hints[inPool])
		}
	}
}

// hintsOf are the addresses of a hint, if it is one.
func hintsOf(value dns.SVCBKeyValue) (hints []net.IP, given bool) {
	switch hint := value.(type) {
	case *dns.SVCBIPv4Hint:
		return hint.Hint, true
	case *dns.SVCBIPv6Hint:
		return hint.Hint, true
	}
	return nil, false
}
