package nameserver

import (
	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// action is what remains to be done after a decision.
type action uint8

const (
	send     action = iota // the reply is complete
	silence                // nothing is sent
	allocate               // the reply lacks the address the Allocator gives
	forward                // the reply comes from the cache or from upstream
)

// decision is what a message leads to, without side effects.
type decision struct {
	action action
	reply  reply
	zone   model.Name // of a question for a name in a zone, else ""
	target model.Name // the name that an address is for, or that is asked upstream
	owner  string     // of the record with the address: the name asked, or what its CNAME leads to
	static bool       // the answer comes from a zone file and is about no lent name
	alias  bool       // the name asked is an alias
	parent bool       // an A question for a name that has other services' names below it
}

// preliminary settles what does not depend on any zone: malformed messages,
// operations not served, EDNS versions. ok is false when q needs no more.
func preliminary(q *query, fault problem) (d decision, ok bool) {
	switch fault {
	case notAQuery:
		return decision{action: silence}, false
	case malformed:
		return failure(dns.RcodeFormatError), false
	case notImplemented:
		return refusal(dns.RcodeNotImplemented, reasonUnsupported), false
	case none:
	}
	switch {
	case q.edns.version != 0:
		return failure(dns.RcodeBadVers), false // RFC 6891 §6.1.3
	case q.qclass != dns.ClassINET || isTransferOrMeta(q.qtype):
		return refusal(dns.RcodeRefused, reasonUnsupported), false
	}
	return decision{}, true
}

func failure(rcode int) decision { return decision{reply: reply{rcode: rcode}} }

func refusal(rcode int, why reason) decision {
	return decision{reply: reply{rcode: rcode, reason: why}}
}
