package nameserver

import (
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	maxTTL         = 24 * time.Hour  // however long upstream lets a record live (RFC 8767 §4 suggests a cap)
	maxNegativeTTL = 3 * time.Hour   // RFC 2308 §5
	failureTTL     = 1 * time.Second // a failure is remembered at least so long (RFC 9520 §3.2)
	maxCachedReply = 4096            // octets; longer replies are asked again, which bounds the cache's memory
)

// cacheKey is what makes two questions the same. class is always IN.
type cacheKey struct {
	name   string // presentation form in lower case
	qtype  uint16
	do, cd bool // change what upstream answers
}

func (k cacheKey) String() string { return fmt.Sprintf("%s %d %t %t", k.name, k.qtype, k.do, k.cd) }

// upstreamReply is an answer from upstream. It is shared and never changed.
type upstreamReply struct {
	rcode                     int
	negative                  bool // NXDOMAIN, or no record of the type that was asked for
	authenticated             bool // AD, which upstream vouches for
	answer, authority, extras []dns.RR
	own                       string // where its CNAMEs lead into a zone of ours: the name, as it was written
	why                       reason // there is no answer, or less than there was
	stored                    model.Instant
	ttl                       time.Duration // it may be used before stored+ttl; 0 is never cached
}

// cache keeps upstream answers for their TTL.
type cache struct {
	entries *lru.Cache[cacheKey, *upstreamReply] // nil keeps none
}

// newCache makes a cache for size answers; 0 makes none.
func newCache(size int) (*cache, error) {
	if size == 0 {
		return &cache{}, nil
	}
	entries, err := lru.New[cacheKey, *upstreamReply](size)
	if err != nil {
		return nil, fmt.Errorf("make a cache of %d answers: %w", size, err)
	}
	return &cache{entries: entries}, nil
}

func (c *cache) get(now model.Instant, key cacheKey) (*upstreamReply, bool) {
	if c.entries == nil {
		return nil, false
	}
	entry, ok := c.entries.Get(key)
	if ok && !now.Before(entry.stored.Add(entry.ttl)) {
		c.entries.Remove(key)
		return nil, false
	}
	return entry, ok
}

func (c *cache) put(key cacheKey, entry *upstreamReply) {
	if c.entries != nil && entry.ttl > 0 {
		c.entries.Add(key, entry)
	}
}

// newUpstreamReply keeps what is passed on of a message from upstream.
// own is where its CNAMEs lead into a zone of ours, or "".
func newUpstreamReply(m *dns.Msg, own string, now model.Instant) *upstreamReply {
	u := &upstreamReply{
		rcode: m.Rcode, authenticated: m.AuthenticatedData,
		answer: m.Answer, authority: m.Ns, stored: now, own: own, negative: own == "" && denies(m),
	}
	for _, record := range m.Extra {
		// These two speak about one hop, not about the name.
		if t := record.Header().Rrtype; t != dns.TypeOPT && t != dns.TypeTSIG {
			u.extras = append(u.extras, record)
		}
	}
	if m.Len() <= maxCachedReply && !m.Truncated {
		u.ttl = u.lifetime()
	}
	return u
}

// denies reports NXDOMAIN and NODATA, also at the end of a chain of CNAMEs.
func denies(m *dns.Msg) bool {
	if m.Rcode != dns.RcodeSuccess || len(m.Question) == 0 {
		return m.Rcode == dns.RcodeNameError
	}
	wanted := m.Question[0].Qtype
	return !slices.ContainsFunc(m.Answer, func(record dns.RR) bool {
		return wanted == dns.TypeANY || record.Header().Rrtype == wanted
	})
}

// lifetime is how long the reply may be cached: the least TTL of its records,
// or for NXDOMAIN and NODATA what the SOA says (RFC 2308 §5).
func (u *upstreamReply) lifetime() time.Duration {
	if !u.negative && u.rcode != dns.RcodeSuccess {
		return 0
	}
	least := maxTTL
	for _, section := range [][]dns.RR{u.answer, u.authority, u.extras} {
		for _, record := range section {
			least = min(least, lifetimeOf(record.Header().Ttl))
		}
	}
	if !u.negative {
		return least
	}
	for _, record := range u.authority {
		if soa, ok := record.(*dns.SOA); ok {
			return min(least, lifetimeOf(soa.Minttl), maxNegativeTTL)
		}
	}
	return 0
}

// lifetimeOf reads a TTL; one with the highest bit set means 0 (RFC 2181 §8).
func lifetimeOf(ttl uint32) time.Duration {
	if ttl > 1<<31-1 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// message makes the answer to q. TTLs are less by the time spent in the cache.
func (u *upstreamReply) message(q *query, question dns.Question, now model.Instant) *dns.Msg {
	m := &dns.Msg{Compress: true, Question: []dns.Question{question}}
	m.Id = uint16(q.message[0])<<8 | uint16(q.message[1])
	m.Response = true
	m.RecursionAvailable = true
	m.RecursionDesired = q.flags&flagRD != 0
	m.CheckingDisabled = q.flags&flagCD != 0
	// AD only for those who asked for it (RFC 6840 §5.8).
	m.AuthenticatedData = u.authenticated && (q.edns.do || q.flags&flagAD != 0)
	m.Rcode = u.rcode
	if m.Rcode > 0xF {
		m.Rcode = dns.RcodeServerFailure // extended codes are about our hop to upstream
	}
	age := u.age(now)
	m.Answer, m.Ns, m.Extra = aged(u.answer, age), aged(u.authority, age), aged(u.extras, age)
	if q.edns.present {
		m.SetEdns0(ownSize, q.edns.do)
		if !u.why.isZero() {
			opt := m.IsEdns0()
			opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: u.why.code, ExtraText: u.why.text})
		}
	}
	return m
}

// age is how many seconds the reply has been known.
func (u *upstreamReply) age(now model.Instant) uint32 {
	return uint32(max(0, now.Sub(u.stored)) / time.Second)
}

// aged is the answer's records as they are now.
func (u *upstreamReply) aged(now model.Instant) []dns.RR { return aged(u.answer, u.age(now)) }

// aged copies records with their TTLs reduced by age seconds.
func aged(records []dns.RR, age uint32) []dns.RR {
	copies := make([]dns.RR, 0, len(records)+1)
	for _, record := range records {
		record = dns.Copy(record)
		header := record.Header()
		header.Ttl -= min(age, header.Ttl)
		copies = append(copies, record)
	}
	return copies
}
