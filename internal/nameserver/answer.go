package nameserver

import (
	"github.com/miekg/dns"
)

// answer completes the reply for a name that exists and is no CNAME. What the
// file has at a lent name comes before what the realm would say of it, but for
// addresses, of which the file has none there.
func (s *search) answer(f finding) {
	apex := s.name == string(s.zone.name)
	switch {
	case s.name == s.child && s.qtype == dns.TypeSOA:
		s.add(s.zone.start(s.owner, s.zone.soa.Hdr.Ttl))
		return
	case s.name == s.child && s.qtype == dns.TypeNS:
		s.add(s.zone.delegation(s.owner, s.nameserver))
		return
	case s.qtype == dns.TypeSOA && apex:
		s.add(s.zone.start(s.owner, s.zone.soa.Hdr.Ttl))
	case s.qtype == dns.TypeNS && apex:
		s.servers()
	case s.qtype == dns.TypeA && s.name == string(s.nameserver):
		s.add(addressRecord(s.owner, zoneTTL, s.address))
	case s.qtype == dns.TypeA && s.inside && f.known:
		s.add(addressRecord(s.owner, recordTTL, f.entry.Address))
		return
	case s.qtype == dns.TypeTXT && len(f.challenges) > 0:
		for _, rr := range append(f.challenges[:len(f.challenges):len(f.challenges)], f.node.Set(s.qtype)...) {
			s.add(withOwner(rr, s.owner))
		}
	case len(f.node.Set(s.qtype)) > 0:
		for _, rr := range f.node.Set(s.qtype) {
			s.add(withOwner(rr, s.owner))
			s.d.reply.additional = append(s.d.reply.additional, s.addresses(targetOf(rr))...)
		}
	case f.known:
		s.entry(f)
		return
	default:
		s.negative(dns.RcodeSuccess, s.zone.absent())
		return
	}
	s.lent = false // the zone's own records, which are the same for everybody
}

// servers are this one and those that the file names.
func (s *search) servers() {
	ttl := uint32(zoneTTL)
	others := s.zone.data.Node(s.name).Set(dns.TypeNS)
	if len(others) > 0 {
		ttl = others[0].Header().Ttl
	}
	records := []dns.RR{&dns.NS{Hdr: header(s.owner, dns.TypeNS, ttl), Ns: string(s.nameserver)}}
	for _, other := range others {
		if dns.CanonicalName(other.(*dns.NS).Ns) != string(s.nameserver) {
			records = append(records, withOwner(other, s.owner))
		}
	}
	s.add(records...)
	for _, rr := range records {
		s.d.reply.additional = append(s.d.reply.additional, s.addresses(rr.(*dns.NS).Ns)...)
	}
}

// targetOf is the name whose addresses an asker of the record wants next, or "".
func targetOf(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.MX:
		return rr.Mx
	case *dns.SRV:
		return rr.Target
	}
	return ""
}

// addresses are the fixed addresses of a name in our zones. A lent name has
// none: what is added to an answer never takes an address.
func (s *search) addresses(name string) []dns.RR {
	name = dns.CanonicalName(name)
	if name == string(s.nameserver) {
		if !s.holds(name) {
			return nil
		}
		return []dns.RR{addressRecord(name, zoneTTL, s.address)}
	}
	zone, ok := s.zoneOf(name, false)
	if !ok {
		return nil
	}
	return zone.data.Addresses(name)
}

// entry answers for a name of the directory. Only A questions for names that
// open something lend an address, and not those for web names.
func (s *search) entry(f finding) {
	if s.qtype == dns.TypeA && s.web {
		s.add(s.webAddress(f.entry))
		return
	}
	if s.qtype == dns.TypeA && f.entry.lent() {
		s.d.action, s.d.target, s.d.owner = allocate, s.plain, s.owner
		// An alias is a CNAME, which has no place beside an SOA or other records.
		s.d.parent = f.entry.Parent && f.entry.Encloser == "" && f.node.Empty() && s.name != string(s.zone.name) && s.hops == 0 &&
			len(s.zone.secondaries) == 0 // a secondary would say that there is no alias
		return
	}
	if compute, ok := computed[s.qtype]; ok {
		if rr := compute(s, f.entry); rr != nil {
			s.add(rr)
			return
		}
	}
	switch {
	case s.inside:
		s.negative(dns.RcodeSuccess, s.zone.absent())
		return
	case s.web: // what it lacks may be remembered as its address is
		s.negative(dns.RcodeSuccess, min(s.zone.absent(), seconds(f.entry.WebTTL)))
		return
	}
	// What a name of the pool has may change with the next reload, and its
	// A record is never cached either.
	s.negative(dns.RcodeSuccess, 0)
}
