package nameserver

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// Statistics are the counters of a server since it was made. Connections is
// the only one that also falls.
type Statistics struct {
	QueriesUDP    uint64 `json:"queries_udp"`    // messages received
	QueriesTCP    uint64 `json:"queries_tcp"`    // messages received
	Ignored       uint64 `json:"ignored"`        // responses and fragments of messages: no answer
	Malformed     uint64 `json:"malformed"`      // answered FORMERR
	Refused       uint64 `json:"refused"`        // outside the zones, a class or type not served
	NotServed     uint64 `json:"not_served"`     // answered NOTIMP: update, notify and others
	Slowed        uint64 `json:"slowed"`         // of these, static answers to a network that had its share
	Truncated     uint64 `json:"truncated"`      // answered TC=1: ask again over TCP
	NameErrors    uint64 `json:"name_errors"`    // answered NXDOMAIN from the zones
	Allocated     uint64 `json:"allocated"`      // answered with a pool address
	Aliased       uint64 `json:"aliased"`        // answered with an alias: the asker minimises names
	Exhausted     uint64 `json:"exhausted"`      // no pool address was free
	Limited       uint64 `json:"limited"`        // the policy refused an allocation
	Failed        uint64 `json:"failed"`         // an allocation failed on our side
	Transfers     uint64 `json:"transfers"`      // zones given to secondaries, whole or by differences
	Updates       uint64 `json:"updates"`        // changes of challenges (RFC 2136)
	Notified      uint64 `json:"notified"`       // changes that a secondary was told of
	NotifyFailed  uint64 `json:"notify_failed"`  // changes that a secondary did not hear of
	BadSignature  uint64 `json:"bad_signature"`  // answered NOTAUTH: not signed by a key of ours
	SendFailed    uint64 `json:"send_failed"`    // answers that a socket did not take
	Connections   int64  `json:"connections"`    // TCP connections now
	Evicted       uint64 `json:"evicted"`        // idle TCP connections closed for a new one
	OverClient    uint64 `json:"over_client"`    // TCP connections refused: one address has too many
	CacheHits     uint64 `json:"cache_hits"`     // answered from the cache
	CacheMisses   uint64 `json:"cache_misses"`   // had to be asked upstream
	Coalesced     uint64 `json:"coalesced"`      // joined the same question under way
	Overloaded    uint64 `json:"overloaded"`     // not answered: too many questions under way, or this one for long
	RebindBlocked uint64 `json:"rebind_blocked"` // answers of upstream that held addresses inside, which were taken out
	OwnRemoved    uint64 `json:"own_removed"`    // answers of upstream that held records of our zones, which were taken out
	NotInside     uint64 `json:"not_inside"`     // to the private server, from an address that it does not serve
	WaitLimited   uint64 `json:"wait_limited"`   // not answered: the asker had too many questions under way

	UpstreamQueries uint64 `json:"upstream_queries"` // messages sent upstream
	UpstreamFailed  uint64 `json:"upstream_failed"`  // answered SERVFAIL: no upstream server gave an answer

	Answers [rcodes]uint64 `json:"answers"` // messages sent, by the code in their headers
}

// rcodes is how many codes a header has room for (RFC 1035 §4.1.1).
const rcodes = 16

// Answered is an answer that was sent.
type Answered struct {
	Asker     netip.AddrPort
	Transport Transport
	Took      time.Duration // from the arrival of the question
	Message   []byte        // of DNS; it is not to be kept, nor changed
}

// Took hears of each answer that was sent. It must not wait.
type Took func(Answered)

// counters is the live form of Statistics.
type counters struct {
	queriesUDP, queriesTCP, ignored, malformed, refused, notServed       atomic.Uint64
	slowed, truncated, nameErrors, allocated, exhausted, limited, failed atomic.Uint64
	transfers, updates, notified, notifyFailed, badSignature             atomic.Uint64
	aliased, sendFailed, evicted, overClient                             atomic.Uint64
	cacheHits, cacheMisses, coalesced, overloaded, waitLimited           atomic.Uint64
	rebindBlocked, ownRemoved, notInside                                 atomic.Uint64
	upstreamQueries, upstreamFailed                                      atomic.Uint64
	connections                                                          atomic.Int64
	answers                                                              [rcodes]atomic.Uint64

	took Took // nil: nobody hears
}

func (c *counters) read() Statistics {
	s := Statistics{
		QueriesUDP: c.queriesUDP.Load(), QueriesTCP: c.queriesTCP.Load(),
		Ignored: c.ignored.Load(), Malformed: c.malformed.Load(), Refused: c.refused.Load(), NotServed: c.notServed.Load(),
		Slowed: c.slowed.Load(), Truncated: c.truncated.Load(), NameErrors: c.nameErrors.Load(),
		Allocated: c.allocated.Load(), Aliased: c.aliased.Load(), Exhausted: c.exhausted.Load(), Limited: c.limited.Load(), Failed: c.failed.Load(),
		Transfers: c.transfers.Load(), Updates: c.updates.Load(), Notified: c.notified.Load(), NotifyFailed: c.notifyFailed.Load(),
		BadSignature: c.badSignature.Load(), SendFailed: c.sendFailed.Load(), Connections: c.connections.Load(),
		Evicted: c.evicted.Load(), OverClient: c.overClient.Load(),
		CacheHits: c.cacheHits.Load(), CacheMisses: c.cacheMisses.Load(),
		Coalesced: c.coalesced.Load(), Overloaded: c.overloaded.Load(), WaitLimited: c.waitLimited.Load(),
		RebindBlocked: c.rebindBlocked.Load(), OwnRemoved: c.ownRemoved.Load(), NotInside: c.notInside.Load(),
		UpstreamQueries: c.upstreamQueries.Load(), UpstreamFailed: c.upstreamFailed.Load(),
	}
	for code := range s.Answers {
		s.Answers[code] = c.answers[code].Load()
	}
	return s
}

// countSent counts a message that was sent, by the code in its header.
func (c *counters) countSent(message []byte) { c.answers[message[3]&(rcodes-1)].Add(1) }

// answered tells that what came then has its answer.
func (c *counters) answered(asker netip.AddrPort, transport Transport, message []byte, came time.Time) {
	if c.took != nil {
		c.took(Answered{asker, transport, time.Since(came), message})
	}
}

func (c *counters) countDecision(fault problem, d *decision) {
	switch {
	case fault == notAQuery:
		c.ignored.Add(1)
	case fault == malformed:
		c.malformed.Add(1)
	case fault == notImplemented:
		c.notServed.Add(1)
	case d.reply.rcode == dns.RcodeRefused:
		c.refused.Add(1)
	case d.reply.rcode == dns.RcodeNameError:
		c.nameErrors.Add(1)
	}
}

// countReply looks at the finished message, since rendering may truncate it.
func (c *counters) countReply(message []byte) {
	if len(message) >= headerLength && binary.BigEndian.Uint16(message[2:])&flagTC != 0 {
		c.truncated.Add(1)
	}
}
