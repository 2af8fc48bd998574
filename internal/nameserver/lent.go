package nameserver

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// LentName is a name that has a pool address, and the types of questions for it
// that an asker who has not proved its address is told nothing of over UDP but TC=1.
type LentName struct {
	Name  model.Name
	Types []uint16 // of lentTypes
}

// lentTypes are what browsers ask of a name.
var lentTypes = [...]uint16{dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS}

// LentNames lists the names that others may answer for as this server would: by
// TC=1 to who has not proved its address. Names that stand for a wildcard are not
// among them, and where UDP lends there are none.
//
// An answer about AAAA or HTTPS is longer than its question, unless the question
// was padded: those are to be left to this server.
func (p *Public) LentNames() []LentName {
	settings := p.settings.Load()
	if settings.verify != VerifyTCP {
		return nil
	}
	var list []LentName
	directory := settings.directory()
	for _, zone := range settings.authority.zones {
		for _, name := range directory.Lent(zone.name) {
			if strings.HasPrefix(string(name), "*.") {
				continue
			}
			lent := LentName{Name: name}
			for _, qtype := range lentTypes {
				if settings.truncates(name, qtype, p.now()) {
					lent.Types = append(lent.Types, qtype)
				}
			}
			if len(lent.Types) > 0 {
				list = append(list, lent)
			}
		}
	}
	return list
}

// truncates reports whether all that the shortest question gets over UDP, by an
// asker that has proved nothing, is TC=1.
func (s *publicSettings) truncates(name model.Name, qtype uint16, now model.Instant) bool {
	message, err := new(dns.Msg).SetQuestion(string(name), qtype).Pack()
	if err != nil {
		return false
	}
	var q query
	fault := q.parse(message)
	d := s.decide(&q, fault, false, netip.IPv4Unspecified(), now)
	return fault == none && d.zone != "" && d.action == send && !d.static && d.reply.authoritative &&
		d.reply.rcode == dns.RcodeSuccess && (d.reply.truncated || d.reply.hasRecords())
}
