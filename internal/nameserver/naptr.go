package nameserver

import (
	"regexp"
	"strings"

	"github.com/miekg/dns"
)

// serviceTag is what a first label has to be to name an application service
// (RFC 3958 §6.5: 1 to 30 letters, digits and signs after "x-").
var serviceTag = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,29}$`)

// pointerRecord says by which SRV record to go on (S-NAPTR, RFC 3958 §2.2): the name's own.
// The service is the first label, the protocol that of the port, both of no registry.
func pointerRecord(s *search, e Entry) dns.RR {
	_, protocol, ok := s.single(e)
	if !ok {
		return nil
	}
	label, _, _ := strings.Cut(s.owner, ".")
	if !serviceTag.MatchString(label) {
		return nil
	}
	return &dns.NAPTR{
		Hdr: s.header(dns.TypeNAPTR), Order: 100, Preference: 10, Flags: "S",
		Service: "x-" + label + ":x-" + protocol.String(), Replacement: s.owner,
	}
}
