package nameserver

import (
	"fmt"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// authority holds the zones and says what is in them. It is immutable.
type authority struct {
	zones      map[string]*served // by name
	nameserver model.Name
	address    netip.Addr // of nameserver, used when it is in one of the zones
	serial     uint32     // of zones that have none of their own
	inside     bool       // private addresses and ports, instead of pool addresses
}

func newAuthority(zones []Zone, nameserver model.Name, address netip.Addr, serial uint32, journal *Journal) (*authority, error) {
	a := &authority{zones: map[string]*served{}, nameserver: nameserver, address: address, serial: serial}
	if len(zones) == 0 { // of a machine that has no names: all is refused
		return a, nil
	}
	if checked, err := model.ParseName(string(nameserver)); err != nil || checked != nameserver {
		return nil, fmt.Errorf("name server's name %q is not a canonical name: use model.ParseName", nameserver)
	}
	for _, given := range zones {
		z, err := newServed(given, nameserver, serial, journal)
		if err != nil {
			return nil, err
		}
		a.zones[string(z.name)] = z
	}
	if !address.Is4() && a.holds(string(nameserver)) {
		return nil, fmt.Errorf("name server %s is in a zone, but its address %v is not IPv4: give its public address", nameserver, address)
	}
	return a, nil
}

// holds reports whether a name is in a zone of ours.
func (a *authority) holds(name string) bool {
	_, ok := a.zoneOf(name, false)
	return ok
}

// zone returns the closest zone that holds the query's name.
func (a *authority) zone(q *query) (*served, bool) {
	// DS belongs to the parent's side of a zone cut (RFC 4035 §3.1.4.1).
	return a.zoneOf(q.text(), q.qtype == dns.TypeDS)
}

// zoneOf returns the closest zone that holds a name in canonical form; above an
// apex if skipApex says so and there is one. Names are compared label by label,
// which keeps evilfoo.example, and a label that contains a dot, out of foo.example.
func (a *authority) zoneOf(name string, skipApex bool) (*served, bool) {
	var apex *served
	for rest := name; rest != "."; rest = parentOf(rest) {
		z, ok := a.zones[rest]
		if ok && (rest != name || !skipApex) {
			return z, true
		}
		if ok {
			apex = z
		}
	}
	return apex, apex != nil
}

// parentOf is a name without its first label; the root's is the root.
func parentOf(name string) string {
	next, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[next:]
}

// negative completes NXDOMAIN or NODATA with the SOA that limits how long it
// may be cached (RFC 2308 §3).
func (z *served) negative(r reply, rcode int, ttl uint32) decision {
	return z.negativeOf(r, string(z.name), rcode, ttl)
}

// negativeOf is negative with the SOA at a name of its own.
func (z *served) negativeOf(r reply, owner string, rcode int, ttl uint32) decision {
	r.rcode = rcode
	r.authority = []dns.RR{z.start(owner, ttl)}
	return decision{reply: r}
}

// header is a record's header.
func header(owner string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

func addressRecord(owner string, ttl uint32, address netip.Addr) dns.RR {
	return &dns.A{Hdr: header(owner, dns.TypeA, ttl), A: address.AsSlice()}
}
