package nameserver

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// Verify says how an asker must prove its address before it gets one lent.
type Verify uint8

// How askers are verified.
const (
	VerifyTCP  Verify = iota // only queries over TCP allocate
	VerifyNone               // any query allocates
)

const (
	// addressLength is what one A record adds to a query: a pointer to the
	// name, type, class, TTL, length and the address.
	addressLength = 16
	// ownLimit bounds our own replies over TCP; the longest possible, an SOA
	// with three names of 255 octets, is far shorter.
	ownLimit = 2048
)

// PublicOptions configures a Public server.
type PublicOptions struct {
	Zones             []model.Name // at least one
	Nameserver        model.Name   // the name in NS and SOA records
	NameserverAddress netip.Addr   // its A record, needed if Nameserver is in a zone
	Serial            uint32       // of the zones' SOA records; should grow with every reload
	Verify            Verify
	Directory         func() Directory // the current snapshot; called once per message
	Allocator         Allocator
	Now               func() model.Instant // times aliases and minimisers; nil counts from the start of the server
	Logger            *slog.Logger         // nil logs nothing
	Limits            Limits
}

// Public is the authoritative server that the public realm asks.
type Public struct {
	settings   atomic.Pointer[publicSettings]
	minimisers *minimisers
	aliases    *aliases
	counters   counters
	seed       maphash.Seed
	streamed   atomic.Uint64 // queries over TCP that allocate; makes their IDs differ
	now        func() model.Instant
	limits     Limits
	logger     *slog.Logger
}

type publicSettings struct {
	authority *authority
	directory func() Directory
	allocator Allocator
	verify    Verify
	aliases   *aliases
}

// NewPublic checks the options and makes a server; Serve starts it.
func NewPublic(options PublicOptions) (*Public, error) {
	minimisers, err := newMinimisers()
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	aliases, err := newAliases()
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	p := &Public{
		minimisers: minimisers, aliases: aliases, seed: maphash.MakeSeed(), now: clockOr(options.Now),
		limits: options.Limits.withDefaults(), logger: loggerOr(options.Logger),
	}
	return p, p.Reconfigure(options)
}

// Reconfigure replaces everything but Now, Logger and Limits. Messages under way
// are finished with the old settings. On an error nothing changes.
func (p *Public) Reconfigure(options PublicOptions) error {
	if options.Directory == nil || options.Allocator == nil {
		return errors.New("public name server needs a directory and an allocator")
	}
	authority, err := newAuthority(options.Zones, options.Nameserver, options.NameserverAddress, options.Serial)
	if err != nil {
		return fmt.Errorf("configure public name server: %w", err)
	}
	p.settings.Store(&publicSettings{authority, options.Directory, options.Allocator, options.Verify, p.aliases})
	return nil
}

// Serve answers on the sockets until ctx ends, then returns nil. Either socket
// may be nil; packets must be a *net.UDPConn. Serve closes both.
func (p *Public) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	return serve(ctx, p, packets, listener, &p.counters, p.limits, p.logger)
}

// Statistics returns the counters since the server was made.
func (p *Public) Statistics() Statistics { return p.counters.read() }

// decide is pure: what q from asker leads to under these settings.
func (s *publicSettings) decide(q *query, fault problem, transport Transport, asker netip.Addr, now model.Instant) decision {
	d, ok := preliminary(q, fault)
	if !ok {
		return d
	}
	zone, ok := s.authority.zone(q)
	if !ok {
		return failure(dns.RcodeRefused)
	}
	directory := s.directory()
	d = s.authority.decide(q, zone, directory)
	if d.reply.rcode == dns.RcodeNameError {
		d = s.decideAlias(q, zone, directory, asker, now, d)
	}
	d.zone = zone
	if d.action == allocate && !s.verified(transport) {
		d.action = send
		d.reply.truncated = true
	}
	return d
}

// verified reports whether askers over a transport count as verified.
func (s *publicSettings) verified(transport Transport) bool {
	return transport == TCP || s.verify == VerifyNone
}

// limit is how long the reply may be. Over UDP it never exceeds the query, see
// the package's documentation.
func (s *publicSettings) limit(q *query, length int, transport Transport, r *reply) int {
	if transport == TCP {
		return ownLimit
	}
	if s.verify == VerifyNone && len(r.answer) == 1 && r.answer[0].Header().Rrtype == dns.TypeA {
		length += addressLength
	}
	return min(length, q.udpSize())
}

// respond implements responder.
func (p *Public) respond(ctx context.Context, message []byte, from netip.AddrPort, transport Transport, buf []byte) ([]byte, continuation) {
	var q query
	settings := p.settings.Load()
	fault := q.parse(message)
	now := p.now()
	d := settings.decide(&q, fault, transport, from.Addr(), now)
	if d.zone != "" {
		p.sight(settings, &q, &d, from.Addr(), transport, now)
	}
	p.counters.countDecision(fault, &d)
	switch {
	case d.action == silence:
		return nil, nil
	case d.action == allocate && transport == TCP:
		kept, d := q.detached(), d
		return nil, func(ctx context.Context, buf []byte) []byte {
			p.allocate(ctx, settings, kept, &d, from, TCP)
			return kept.render(buf, &d.reply, ownLimit)
		}
	case d.action == allocate:
		p.allocate(ctx, settings, &q, &d, from, UDP)
	}
	out := q.render(buf, &d.reply, settings.limit(&q, len(message), transport, &d.reply))
	p.counters.countReply(out[len(buf):])
	return out, nil
}

// allocate completes the reply with an address or with why there is none.
func (p *Public) allocate(ctx context.Context, settings *publicSettings, q *query, d *decision, from netip.AddrPort, transport Transport) {
	r := &d.reply
	answer, err := settings.allocator.Allocate(ctx, Question{
		Name: d.target, Client: from, Transport: transport, ID: p.queryID(q, from, transport),
	})
	if err == nil && !answer.Address.Is4() {
		err = fmt.Errorf("%w: the address %v is not IPv4", ErrFailed, answer.Address)
	}
	switch {
	case err == nil:
		p.counters.allocated.Add(1)
		r.answer = []dns.RR{addressRecord(q.name, 0, answer.Address)}
	case errors.Is(err, ErrExhausted):
		p.counters.exhausted.Add(1)
		// Over UDP the asker comes again over TCP, where the allocator waits.
		r.truncated = transport == UDP
		if transport == TCP {
			r.rcode = dns.RcodeServerFailure
		}
	case errors.Is(err, ErrRefused):
		p.counters.limited.Add(1)
		r.rcode = dns.RcodeRefused
	default:
		p.counters.failed.Add(1)
		r.rcode = dns.RcodeServerFailure
		p.logger.LogAttrs(ctx, slog.LevelWarn, "no address lent", slog.String("name", string(d.target)),
			slog.String("client", from.String()), slog.Any("error", err))
	}
	r.authoritative = r.rcode == dns.RcodeSuccess
}

// queryID tells distinct queries apart. A UDP query sent again has the same
// source, DNS id and name; a stream delivers each query once.
func (p *Public) queryID(q *query, from netip.AddrPort, transport Transport) uint64 {
	type identity struct {
		from   netip.AddrPort
		name   model.Name
		id     [2]byte
		stream uint64
	}
	key := identity{from: from, name: q.canonical, id: [2]byte(q.message[:2])}
	if transport == TCP {
		key.stream = p.streamed.Add(1)
	}
	return maphash.Comparable(p.seed, key)
}

// loggerOr replaces nil by a logger that discards.
func loggerOr(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return logger
}

// clockOr replaces nil by a clock that starts now.
func clockOr(now func() model.Instant) func() model.Instant {
	if now != nil {
		return now
	}
	start := time.Now()
	return func() model.Instant { return model.Instant(time.Since(start)) }
}

// Limits bounds what TCP clients can hold. Zero values mean the defaults.
type Limits struct {
	Connections int           // at a time, default 4096; the longest idle one makes room for a new one
	PerClient   int           // connections of one address, default 512; more are closed at once
	Idle        time.Duration // a connection without a whole message for so long is closed, default 10 s (RFC 7766 §6.2.3)
}

func (l Limits) withDefaults() Limits {
	if l.Connections <= 0 {
		l.Connections = 4096
	}
	if l.PerClient <= 0 {
		l.PerClient = 512
	}
	if l.Idle <= 0 {
		l.Idle = 10 * time.Second
	}
	return l
}
