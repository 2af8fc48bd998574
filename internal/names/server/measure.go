package server

import (
	"github.com/realmgate/realmgate/internal/metrics/metric"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// The sides of the gateway that ask.
const (
	public  = "public"
	private = "private"
)

// rcodes are the codes of answers that have a label of their own (RFC 1035 §4.1.1, RFC 2136 §2.2).
var rcodes = map[int]string{0: "noerror", 1: "formerr", 2: "servfail", 3: "nxdomain", 4: "notimp", 5: "refused", 9: "notauth"}

// hears is told what a server answered.
func (s *Service) hears(side string) nameserver.Took {
	return func(a nameserver.Answered) {
		if s.Took != nil {
			s.Took(side, a.Transport.String(), a.Took)
		}
		s.questions.hear(side, a)
	}
}

// Measure says what the name servers did. It takes no lock.
func (s *Service) Measure(page metric.Page) error {
	outside, inside := s.public.Statistics(), s.private.Statistics()
	measure(page, public, &outside)
	measure(page, private, &inside)
	page.Put(metric.PoolAnswers, float64(outside.Allocated))
	page.Put(metric.DNSUnanswered, float64(inside.NotInside), private, "not_inside")
	page.Put(metric.DNSUnanswered, float64(inside.WaitLimited), private, "wait_limit")
	page.Put(metric.DNSUnanswered, float64(inside.Overloaded), private, "overload")
	page.Put(metric.DNSCacheHits, float64(inside.CacheHits))
	page.Put(metric.DNSCacheMisses, float64(inside.CacheMisses))
	page.Put(metric.DNSUpstreamQueries, float64(inside.UpstreamQueries))
	page.Put(metric.DNSUpstreamFailures, float64(inside.UpstreamFailed))
	page.Put(metric.DNSFiltered, float64(inside.RebindBlocked), "inside")
	page.Put(metric.DNSFiltered, float64(inside.OwnRemoved), "own")
	return nil
}

// measure says what either server did.
func measure(page metric.Page, side string, did *nameserver.Statistics) {
	page.Put(metric.DNSQuestions, float64(did.QueriesUDP), side, nameserver.UDP.String())
	page.Put(metric.DNSQuestions, float64(did.QueriesTCP), side, nameserver.TCP.String())
	others := uint64(0)
	for code, n := range did.Answers {
		if name, own := rcodes[code]; own {
			page.Put(metric.DNSAnswers, float64(n), side, name)
		} else {
			others += n
		}
	}
	page.Put(metric.DNSAnswers, float64(others), side, "other")
	page.Put(metric.DNSUnanswered, float64(did.Ignored), side, "ignored")
	page.Put(metric.DNSUnanswered, float64(did.SendFailed), side, "send_failed")
	page.Put(metric.DNSTruncated, float64(did.Truncated), side)
	page.Put(metric.DNSConnections, float64(did.Connections), side)
}
