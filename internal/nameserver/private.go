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
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/rebind"
)

// PrivateOptions configures a Private server.
type PrivateOptions struct {
	Zones             []Zone // at least one
	Nameserver        model.Name
	NameserverAddress netip.Addr // its A record, needed if Nameserver is in a zone
	Serial            uint32
	Journal           *Journal              // shared with Public; nil: none. Fixed once the server is made
	Keys              []Key                 // of those who register hosts
	Registrar         Registrar             // nil: nobody registers hosts. Fixed once the server is made
	Abroad            Abroad                // names behind edges; nil: none. Fixed once the server is made
	Directory         func() Directory      // the current snapshot; called once per message
	Upstream          []netip.AddrPort      // for all other names; none: they are REFUSED
	CacheSize         int                   // answers kept, 0 for none; fixed once the server is made
	WaitLimit         int                   // questions of one address that may wait for upstream, default 128
	Serves            func(netip.Addr) bool // whether it answers an asker; nil: it answers all. Fixed once the server is made
	Rebind            *rebind.Filter        // what answers of upstream may not hold; nil: they may hold anything
	Overdone          func(netip.Addr)      // told of an asker whose share of questions is taken, at each further one; nil: nobody is. Fixed once the server is made
	Took              Took                  // nil: nobody hears. Fixed once the server is made
	Now               func() model.Instant  // ages the cache; nil counts from the start of the server
	Logger            *slog.Logger          // nil logs nothing
	Limits            Limits
}

// Private is the resolver of the hosts inside. It answers who can reach its
// sockets and is one of them: bind them to the private address alone.
type Private struct {
	settings atomic.Pointer[privateSettings]
	size     int // answers that are kept
	flights  flights
	waiting  waiting
	overdone seldom // the log's lines about askers with too many questions
	tell     func(netip.Addr)
	cut      seldom // and about what was taken out of answers
	serves   func(netip.Addr) bool
	strange  seldom // the log's lines about askers who are not served
	counters counters
	now      func() model.Instant
	exchange exchanger
	journal  *Journal
	register register
	abroad   Abroad
	limits   Limits
	logger   *slog.Logger
}

type privateSettings struct {
	authority *authority
	keys      keys
	directory func() Directory
	upstream  *upstream // nil: none
	waitLimit int
	rebind    *rebind.Filter
	abroad    Abroad // nil: none
	cache     *cache // of answers that were cleaned under these settings
}

func (s *privateSettings) servers() []netip.AddrPort {
	if s.upstream == nil {
		return nil
	}
	return s.upstream.servers
}

// NewPrivate checks the options and makes a server; Serve starts it.
func NewPrivate(options PrivateOptions) (*Private, error) {
	journal, err := journalOr(options.Journal)
	if err != nil {
		return nil, fmt.Errorf("configure private name server: %w", err)
	}
	p := &Private{
		journal: journal, size: options.CacheSize, serves: options.Serves, tell: options.Overdone, now: clockOr(options.Now), exchange: exchange,
		counters: counters{took: options.Took}, limits: options.Limits.withDefaults(), logger: loggerOr(options.Logger),
		register: register{registrar: options.Registrar, seen: newSeen()}, abroad: options.Abroad,
	}
	return p, p.Reconfigure(options)
}

// Reconfigure replaces everything but CacheSize, Registrar, Abroad, Serves, Overdone, Took, Journal, Now, Logger and Limits. The
// cache stays unless the upstream servers change, or what is taken out of their
// answers. On an error nothing changes.
func (p *Private) Reconfigure(options PrivateOptions) error {
	if options.Directory == nil {
		return errors.New("private name server needs a directory")
	}
	authority, err := newAuthority(options.Zones, options.Nameserver, options.NameserverAddress, options.Serial, p.journal)
	if err != nil {
		return fmt.Errorf("configure private name server: %w", err)
	}
	authority.inside = true
	keys, err := newKeys(options.Keys)
	if err != nil {
		return fmt.Errorf("configure private name server: %w", err)
	}
	settings := &privateSettings{authority: authority, keys: keys, directory: options.Directory, waitLimit: cmp.Or(options.WaitLimit, defaultWaitLimit), rebind: options.Rebind, abroad: p.abroad}
	if len(options.Upstream) > 0 {
		settings.upstream = &upstream{
			servers: slices.Clone(options.Upstream), exchange: p.exchange,
			counters: &p.counters, logger: p.logger,
		}
	}
	if old := p.settings.Load(); old != nil && old.answersLike(settings) {
		settings.cache = old.cache
	} else if settings.cache, err = newCache(p.size); err != nil {
		return fmt.Errorf("configure private name server: %w", err)
	}
	p.settings.Store(settings)
	return nil
}

// answersLike reports whether an answer that upstream gave under the settings is
// as good under others.
func (s *privateSettings) answersLike(other *privateSettings) bool {
	return slices.Equal(s.servers(), other.servers()) && s.rebind.Same(other.rebind) &&
		slices.Equal(s.authority.boundary(), other.authority.boundary())
}

// Serve answers on the sockets until ctx ends, then returns nil. Either socket
// may be nil; packets must be a *net.UDPConn. Serve closes both.
func (p *Private) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	return serve(ctx, p, packets, listener, &p.counters, p.limits, p.logger)
}

// Statistics returns the counters since the server was made.
func (p *Private) Statistics() Statistics { return p.counters.read() }

// decide is pure: what q leads to under these settings.
func (s *privateSettings) decide(q *query, fault problem, asker netip.Addr) decision {
	d, ok := preliminary(q, fault)
	if !ok {
		return d
	}
	directory := s.directory()
	if zone, ok := s.authority.zone(q); ok {
		d = s.authority.decide(q, zone, directory)
	} else if d, ok = s.reverseAbroad(q, asker); ok {
		return d
	} else if d, ok = s.authority.reverse(q, directory); !ok {
		d = decision{action: forward, target: model.Name(q.asked())}
	}
	// Without RD the asker wants what we know ourselves.
	if d.action == forward && (s.upstream == nil || q.flags&flagRD == 0) && !s.isAbroad(string(d.target)) {
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

// stranger is what becomes of a question of somebody who is not served. Over UDP it gets no answer, as with dnsmasq's local-service: the answer
// would leave with a private source.
func (p *Private) stranger(asker netip.Addr, transport Transport) decision {
	p.counters.notInside.Add(1)
	if p.strange.due(p.now()) {
		p.logger.Warn("outside question to private resolver", "address", asker)
	}
	if transport == UDP {
		return decision{action: silence}
	}
	return refusal(dns.RcodeRefused, reasonStranger)
}

// respond implements responder.
func (p *Private) respond(_ context.Context, message []byte, from netip.AddrPort, transport Transport, buf []byte) ([]byte, continuation) {
	var q query
	settings := p.settings.Load()
	fault := q.parse(message)
	var d decision
	if p.serves == nil || p.serves(from.Addr()) {
		if fault == notImplemented && q.opcode() == dns.OpcodeUpdate && p.register.registrar != nil {
			return p.update(settings, &q, slices.Clone(message), from, buf)
		}
		d = settings.decide(&q, fault, from.Addr())
	} else {
		d = p.stranger(from.Addr(), transport)
	}
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
