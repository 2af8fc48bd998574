package nameserver

import (
	"strings"
	"time"

	"github.com/miekg/dns"
)

// webAddress is the A record of a web name, under the name that was asked.
func (s *search) webAddress(e Entry) dns.RR {
	return addressRecord(s.owner, seconds(e.WebTTL), e.Web)
}

// seconds are those of a TTL.
func seconds(ttl time.Duration) uint32 { return uint32(ttl / time.Second) }

// webRecords are all that secondaries are to hold of a web name beside what the file has: what this server answers.
func (a *authority) webRecords(z *served, name string, e Entry) []dns.RR {
	s := search{authority: a, zone: z, name: name, owner: name}
	records := []dns.RR{s.webAddress(e)}
	for rrtype, compute := range computed {
		if len(z.data.Node(name).Set(rrtype)) > 0 {
			continue // the file's come before
		}
		if strings.HasPrefix(name, "*.") && (rrtype == dns.TypeSRV || rrtype == dns.TypeNAPTR) {
			continue // they lead to the name that is asked, which a wildcard's record cannot say
		}
		if rr := compute(&s, e); rr != nil {
			records = append(records, rr)
		}
	}
	return records
}
