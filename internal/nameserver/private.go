package nameserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/miekg/dns"
	"golang.org/x/sync/singleflight"

	"github.com/realmgate/realmgate/internal/model"
)

// PrivateOptions configures a Private server.
type PrivateOptions struct {
	Zones             []Zone // at least one
	Nameserver        model.Name
	NameserverAddress netip.Addr // its A record, needed if Nameserver is in a zone
	Serial            uint32
	Journal           *Journal             // shared with Public; nil: none. Fixed once the server is made
	Directory         func() Directory     // the current snapshot; called once per message
	Upstream          []netip.AddrPort     // for all other names; none: they are REFUSED
	CacheSize         int                  // answers kept, 0 for none; fixed once the server is made
	WaitLimit         int                  // questions of one address that may wait for upstream, default 128
	Now               func() model.Instant // ages the cache; nil counts from the start of the server
	Logger            *slog.Logger         // nil logs nothing
	Limits            Limits
}

// Private is the resolver of the hosts inside. It answers whoever can reach its
// sockets: bind them to the private address alone.
type Private struct {
	settings atomic.Pointer[privateSettings]
	cache    *cache
	flights  singleflight.Group
	waiting  waiting
	overdone seldom // the log's lines about askers with too many questions
	counters counters
	now      func() model.Instant
	exchange exchanger
	journal  *Journal
	limits   Limits
	logger   *slog.Logger
}

type privateSettings struct {
	authority *authority
	directory func() Directory
	upstream  *upstream // nil: none
	waitLimit int
}

func (s *privateSettings) servers() []netip.AddrPort {
	if s.upstream == nil {
		return nil
	}
	return s.upstream.servers
}

// NewPrivate checks the options and makes a server; Serve starts it.
func NewPrivate(options PrivateOptions) (*Private, error) {
	cache, err := newCache(options.CacheSize)
	if err != nil {
		return nil, fmt.Errorf("configure private name server: %w", err)
	}
	journal, err := journalOr(options.Journal)
	if err != nil {
		return nil, fmt.Errorf("configure private name server: %w", err)
	}
	p := &Private{
		journal: journal, cache: cache, now: clockOr(options.Now), exchange: exchange,
		limits: options.Limits.withDefaults(), logger: loggerOr(options.Logger),
	}
	return p, p.Reconfigure(options)
}

// Reconfigure replaces everything but CacheSize, Journal, Now, Logger and Limits. The
// cache stays unless the upstream servers change. On an error nothing changes.
func (p *Private) Reconfigure(options PrivateOptions) error {
	if options.Directory == nil {
		return errors.New("private name server needs a directory")
	}
	authority, err := newAuthority(options.Zones, options.Nameserver, options.NameserverAddress, options.Serial, p.journal)
	if err != nil {
		return fmt.Errorf("configure private name server: %w", err)
	}
	authority.inside = true
	settings := &privateSettings{authority: authority, directory: options.Directory, waitLimit: cmp.Or(options.WaitLimit, defaultWaitLimit)}
	if len(options.Upstream) > 0 {
		settings.upstream = &upstream{
			servers: slices.Clone(options.Upstream), exchange: p.exchange,
			counters: &p.counters, logger: p.logger,
		}
	}
	old := p.settings.Swap(settings)
	if old != nil && !slices.Equal(old.servers(), settings.servers()) {
		p.cache.clear() // another upstream may have other answers
	}
	return nil
}

// Serve answers on the sockets until ctx ends, then returns nil. Either socket
// may be nil; packets must be a *net.UDPConn. Serve closes both.
func (p *Private) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	return serve(ctx, p, packets, listener, &p.counters, p.limits, p.logger)
}

// Statistics returns the counters since the server was made.
func (p *Private) Statistics() Statistics { return p.counters.read() }

// decide is pure: what q leads to under these settings.
func (s *privateSettings) decide(q *query, fault problem) decision {
	d, ok := preliminary(q, fault)
	if !ok {
		return d
	}
	directory := s.directory()
	if zone, ok := s.authority.zone(q); ok {
		d = s.authority.decide(q, zone, directory)
	} else if d, ok = s.authority.reverse(q, directory); !ok {
		d = decision{action: forward, target: model.Name(q.asked())}
	}
	// Without RD the asker wants what we know ourselves.
	if d.action == forward && (s.upstream == nil || q.flags&flagRD == 0) {
		if d.action = send; len(d.reply.answer) == 0 {
			return refusal(dns.RcodeRefused, reasonOutside)
		}
	}
	return d
}

// limit is how long a reply to q may be.
func limit(q *query, transport Transport) int {
	if transport == TCP {
		return streamLimit
	}
	return min(q.udpSize(), ownSize)
}

// respond implements responder.
func (p *Private) respond(_ context.Context, message []byte, from netip.AddrPort, transport Transport, buf []byte) ([]byte, continuation) {
	var q query
	settings := p.settings.Load()
	fault := q.parse(message)
	d := settings.decide(&q, fault)
	p.counters.countDecision(fault, &d)
	switch d.action {
	case silence:
		return nil, nil
	case forward:
		return p.forward(settings, &q, &d, from.Addr(), transport, buf)
	}
	d.reply.recursion = settings.upstream != nil
	out := q.render(buf, &d.reply, limit(&q, transport))
	p.counters.countReply(out[len(buf):])
	return out, nil
}

// forward answers from the cache, or leaves a continuation that asks upstream.
// The name may be another than was asked for: where a CNAME of ours leads.
func (p *Private) forward(settings *privateSettings, q *query, d *decision, asker netip.Addr, transport Transport, buf []byte) ([]byte, continuation) {
	question := dns.Question{Name: string(d.target), Qtype: q.qtype, Qclass: q.qclass}
	before := d.reply.answer
	key := cacheKey{name: strings.ToLower(question.Name), qtype: q.qtype, do: q.edns.do, cd: q.flags&flagCD != 0}
	if known, ok := p.cache.get(p.now(), key); ok {
		p.counters.cacheHits.Add(1)
		return p.pass(known, q, before, transport, buf), nil
	}
	if admission := p.waiting.enter(asker, settings.waitLimit); admission != admitted {
		return p.overdo(admission, settings, q, asker, transport, buf), nil
	}
	p.counters.cacheMisses.Add(1)
	kept := q.detached()
	return nil, func(ctx context.Context, buf []byte, _ sender) []byte {
		defer p.waiting.leave(asker)
		found := p.lookup(ctx, settings.upstream, key, question)
		if found == nil {
			return nil // the server is stopping
		}
		return p.pass(found, kept, before, transport, buf)
	}
}

// overdo is the answer to a question that may not wait for upstream. An asker
// beyond its share hears nothing over UDP, as with unbound's wait-limit: it asks
// again, and its flood costs no replies.
func (p *Private) overdo(a admission, settings *privateSettings, q *query, asker netip.Addr, transport Transport, buf []byte) []byte {
	why := reasonOverloaded
	if a == overShare {
		p.counters.waitLimited.Add(1)
		if p.overdone.due(p.now()) {
			p.logger.Warn("a host inside has as many questions waiting for upstream as one may, more are dropped: see dns.wait_limit",
				"host", asker, "limit", settings.waitLimit)
		}
		if transport == UDP {
			return nil
		}
		why = reasonWaitLimit
	} else {
		p.counters.overloaded.Add(1)
	}
	return q.render(buf, &reply{rcode: dns.RcodeServerFailure, recursion: true, reason: why}, limit(q, transport))
}

// lookup asks upstream once for all who want the same at the same time. ctx is
// the server's: one asker's end does not take the answer from the others.
func (p *Private) lookup(ctx context.Context, upstream *upstream, key cacheKey, question dns.Question) *upstreamReply {
	joined := true
	result := <-p.flights.DoChan(key.String(), func() (any, error) {
		joined = false
		m, err := upstream.ask(ctx, question, key.do, key.cd)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			err = readable(m, question.Name)
		}
		found := &upstreamReply{rcode: dns.RcodeServerFailure, stored: p.now(), ttl: failureTTL}
		if err != nil {
			p.counters.upstreamFailed.Add(1)
			p.logger.Debug("upstream DNS", "error", err)
		} else {
			found = newUpstreamReply(m, p.now())
		}
		p.cache.put(key, found)
		return found, nil
	})
	if joined {
		p.counters.coalesced.Add(1)
	}
	found, _ := result.Val.(*upstreamReply)
	return found
}

// readable reports a reply whose records the library reads but cannot write so
// that others read them, such as an SOA without data.
func readable(m *dns.Msg, name string) error {
	wire, err := m.Pack()
	if err == nil {
		err = new(dns.Msg).Unpack(wire)
	}
	if err != nil {
		return fmt.Errorf("the reply for %s is malformed: %w", name, err)
	}
	return nil
}

// pass writes an upstream reply for one asker, after the CNAMEs of ours that led to it.
func (p *Private) pass(found *upstreamReply, q *query, before []dns.RR, transport Transport, buf []byte) []byte {
	most := limit(q, transport)
	m := found.message(q, dns.Question{Name: q.asked(), Qtype: q.qtype, Qclass: q.qclass}, p.now())
	m.Answer = append(before[:len(before):len(before)], m.Answer...)
	m.Truncate(most)
	wire, err := m.Pack()
	out := append(buf, wire...)
	if err != nil || len(wire) > most {
		// Records that cannot be written again, or not in so little room.
		r := reply{rcode: dns.RcodeServerFailure, recursion: true}
		if err == nil {
			r = reply{recursion: true, truncated: true}
		}
		out = q.render(buf, &r, most)
	}
	p.counters.countReply(out[len(buf):])
	return out
}
