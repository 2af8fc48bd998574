package nameserver

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// TTLs in seconds. A name's public A record has TTL 0, since the address is
// lent once.
const (
	zoneTTL     = 3600 // SOA, NS and the name server's own address
	recordTTL   = 60   // SRV, TXT, PTR and private addresses: a reload may change them
	negativeTTL = 60   // NXDOMAIN and NODATA (RFC 2308 §5)
	soaRefresh  = 3600
	soaRetry    = 600
	soaExpire   = 86400
)

// authority holds the zones and says what is in them. It is immutable.
type authority struct {
	zones      map[string]model.Name // by wire form in lower case
	nameserver model.Name
	address    netip.Addr // of nameserver, used when it is in one of the zones
	serial     uint32
	inside     bool // private addresses and ports, instead of pool addresses
}

func newAuthority(zones []model.Name, nameserver model.Name, address netip.Addr, serial uint32) (*authority, error) {
	a := &authority{zones: map[string]model.Name{}, nameserver: nameserver, address: address, serial: serial}
	if len(zones) == 0 {
		return nil, errors.New("name server has no zones: give at least one")
	}
	for _, zone := range zones {
		if checked, err := model.ParseName(string(zone)); err != nil || checked != zone {
			return nil, fmt.Errorf("zone %q is not a canonical name: use model.ParseName", zone)
		}
		a.zones[wireName(zone)] = zone
	}
	if checked, err := model.ParseName(string(nameserver)); err != nil || checked != nameserver {
		return nil, fmt.Errorf("name server's name %q is not a canonical name: use model.ParseName", nameserver)
	}
	if !address.Is4() && a.holds(nameserver) {
		return nil, fmt.Errorf("name server %s is in a zone, but its address %v is not IPv4: give its public address", nameserver, address)
	}
	return a, nil
}

// wireName is the wire form of a canonical name (RFC 1035 §3.1).
func wireName(name model.Name) string {
	var wire strings.Builder
	for label := range strings.SplitSeq(strings.TrimSuffix(string(name), "."), ".") {
		wire.WriteByte(byte(len(label)))
		wire.WriteString(label)
	}
	wire.WriteByte(0)
	return wire.String()
}

func (a *authority) holds(name model.Name) bool {
	for _, zone := range a.zones {
		if name.In(zone) {
			return true
		}
	}
	return false
}

// zone returns the closest zone that holds the query's name. Comparing the wire
// form label by label keeps evilfoo.example, and a label that contains a dot,
// out of foo.example.
func (a *authority) zone(q *query) (model.Name, bool) {
	// DS belongs to the parent's side of a zone cut (RFC 4035 §3.1.4.1).
	skipApex := q.qtype == dns.TypeDS
	apex, found := model.Name(""), false
	for offset := 0; offset < q.nameLength; offset += int(q.lower[offset]) + 1 {
		zone, ok := a.zones[string(q.lower[offset:q.nameLength])]
		if ok && (offset > 0 || !skipApex) {
			return zone, true
		}
		if ok {
			apex, found = zone, true
		}
	}
	return apex, found
}

// decide answers a query for a name in zone from the zone data and directory.
func (a *authority) decide(q *query, zone model.Name, directory Directory) decision {
	r := reply{authoritative: true}
	name := q.canonical
	if name == "" { // has characters no name of ours has
		return a.negative(r, zone, dns.RcodeNameError, negativeTTL)
	}
	if q.qtype == dns.TypeANY {
		if name != zone && !a.exists(name, directory) {
			return a.negative(r, zone, dns.RcodeNameError, negativeTTL)
		}
		// The least that RFC 8482 §4.2 lets a server say.
		r.answer = []dns.RR{&dns.HINFO{Hdr: q.owner(dns.TypeHINFO, zoneTTL), Cpu: "RFC8482"}}
		return decision{reply: r}
	}
	if name == zone {
		switch q.qtype {
		case dns.TypeSOA:
			r.answer = []dns.RR{a.soa(q.name, zone, zoneTTL)}
			return decision{reply: r}
		case dns.TypeNS:
			r.answer = []dns.RR{&dns.NS{Hdr: q.owner(dns.TypeNS, zoneTTL), Ns: string(a.nameserver)}}
			if a.holds(a.nameserver) {
				r.additional = []dns.RR{addressRecord(string(a.nameserver), zoneTTL, a.address)}
			}
			return decision{reply: r}
		}
	}
	if name == a.nameserver {
		if q.qtype == dns.TypeA {
			r.answer = []dns.RR{addressRecord(q.name, zoneTTL, a.address)}
			return decision{reply: r}
		}
		return a.negative(r, zone, dns.RcodeSuccess, negativeTTL)
	}
	if entry, ok := directory.Find(name); ok {
		return a.entry(q, r, zone, entry)
	}
	if name == zone || a.exists(name, directory) {
		return a.negative(r, zone, dns.RcodeSuccess, negativeTTL)
	}
	return a.negative(r, zone, dns.RcodeNameError, negativeTTL)
}

// exists includes empty non-terminals, those above the name server's own name too.
func (a *authority) exists(name model.Name, directory Directory) bool {
	return a.nameserver.In(name) || directory.Exists(name)
}

// entry answers for a host or service name.
func (a *authority) entry(q *query, r reply, zone model.Name, entry Entry) decision {
	port := entry.Port
	if a.inside {
		port = entry.To // whoever gets the private address must use the private port
	}
	switch {
	case q.qtype == dns.TypeA && a.inside:
		r.answer = []dns.RR{addressRecord(q.name, recordTTL, entry.Address)}
		return decision{reply: r}
	case q.qtype == dns.TypeA:
		parent := entry.Parent && !entry.isService() && q.canonical != zone
		return decision{action: allocate, reply: r, target: q.canonical, parent: parent}
	case q.qtype == dns.TypeSRV && entry.isService():
		r.answer = []dns.RR{&dns.SRV{Hdr: q.owner(dns.TypeSRV, recordTTL), Port: port, Target: q.name}}
		return decision{reply: r}
	case q.qtype == dns.TypeTXT && entry.isService():
		text := fmt.Sprintf("protocol=%s port=%d", entry.Protocol, port)
		r.answer = []dns.RR{&dns.TXT{Hdr: q.owner(dns.TypeTXT, recordTTL), Txt: []string{text}}}
		return decision{reply: r}
	}
	// Outside, what a name of the pool has may change with the next reload,
	// and its A record is never cached either.
	ttl := uint32(0)
	if a.inside {
		ttl = negativeTTL
	}
	return a.negative(r, zone, dns.RcodeSuccess, ttl)
}

// negative completes NXDOMAIN or NODATA with the SOA that limits how long it
// may be cached (RFC 2308 §3).
func (a *authority) negative(r reply, zone model.Name, rcode int, ttl uint32) decision {
	r.rcode = rcode
	r.authority = []dns.RR{a.soa(string(zone), zone, ttl)}
	return decision{reply: r}
}

func (a *authority) soa(owner string, zone model.Name, ttl uint32) *dns.SOA {
	return &dns.SOA{
		Hdr:    dns.RR_Header{Name: owner, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: ttl},
		Ns:     string(a.nameserver),
		Mbox:   mailbox(zone),
		Serial: a.serial, Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire,
		Minttl: negativeTTL,
	}
}

// mailbox is the zone's responsible person (RFC 2142 §7), or the zone alone
// where no room is left for a label.
func mailbox(zone model.Name) string {
	const person = "hostmaster."
	if len(person)+len(zone)+1 > maxNameLength {
		return string(zone)
	}
	return person + string(zone)
}

// owner is a record header for the name as it was asked.
func (q *query) owner(rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: q.name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

func addressRecord(owner string, ttl uint32, address netip.Addr) dns.RR {
	header := dns.RR_Header{Name: owner, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
	return &dns.A{Hdr: header, A: address.AsSlice()}
}
