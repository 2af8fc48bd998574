package nameserver

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// contents are what an update sees of a zone.
type contents interface {
	covers(name string) bool
	set(name string, rrtype uint16) []dns.RR
	inUse(name string) bool
}

// require checks the prerequisites of an update (RFC 2136 §3.2).
func require(u contents, prerequisites []dns.RR) (rcode int) {
	type set struct {
		name   string
		rrtype uint16
	}
	wanted := map[set][]dns.RR{} // sets that are to be as they are given
	for _, rr := range prerequisites {
		h := rr.Header()
		name := dns.CanonicalName(h.Name)
		if h.Ttl != 0 {
			return dns.RcodeFormatError
		}
		if !u.covers(name) {
			return dns.RcodeNotZone
		}
		if h.Class != dns.ClassINET && h.Rdlength != 0 {
			return dns.RcodeFormatError
		}
		there := len(u.set(name, h.Rrtype)) > 0
		switch {
		case h.Class == dns.ClassANY && h.Rrtype == dns.TypeANY && !u.inUse(name):
			return dns.RcodeNameError
		case h.Class == dns.ClassNONE && h.Rrtype == dns.TypeANY && u.inUse(name):
			return dns.RcodeYXDomain
		case (h.Class == dns.ClassANY || h.Class == dns.ClassNONE) && h.Rrtype == dns.TypeANY:
		case h.Class == dns.ClassANY && !there:
			return dns.RcodeNXRrset
		case h.Class == dns.ClassNONE && there:
			return dns.RcodeYXRrset
		case h.Class == dns.ClassANY || h.Class == dns.ClassNONE:
		case h.Class == dns.ClassINET:
			wanted[set{name, h.Rrtype}] = append(wanted[set{name, h.Rrtype}], rr)
		default:
			return dns.RcodeFormatError
		}
	}
	for s, records := range wanted {
		if have := u.set(s.name, s.rrtype); !within(have, records) || !within(records, have) {
			return dns.RcodeNXRrset
		}
	}
	return dns.RcodeSuccess
}

// within reports whether every record is among the others, whatever their TTLs.
func within(records, others []dns.RR) bool {
	return !slices.ContainsFunc(records, func(rr dns.RR) bool {
		return !slices.ContainsFunc(others, func(other dns.RR) bool { return dns.IsDuplicate(rr, other) })
	})
}

// set is what the zone has of a name and type, as far as that is the same for
// everybody: what is lent is not.
func (u *updater) set(name string, rrtype uint16) []dns.RR {
	records := slices.Clone(u.zone.data.Node(name).Set(rrtype))
	if name == string(u.apex) && rrtype == dns.TypeSOA {
		records = append(records, u.zone.start(name, u.zone.soa.Hdr.Ttl))
	}
	for _, rr := range u.records {
		if rr.Header().Name == name && rrtype == dns.TypeTXT {
			records = append(records, rr)
		}
	}
	return records
}

// inUse reports a name that owns something (RFC 2136 §2.4.4).
func (u *updater) inUse(name string) bool {
	_, known := u.directory.Find(model.Name(name))
	return known || name == string(u.zone.name) || name == string(u.nameserver) || !u.zone.data.Node(name).Empty() ||
		len(u.set(name, dns.TypeTXT)) > 0
}
