package nameserver

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	// addressLength is what one A record adds to a query: a pointer to the
	// name, type, class, TTL, length and the address.
	addressLength = 16
	// ownLimit is the room that replies get at first. All but large sets of a
	// zone file fit.
	ownLimit = 2048
	// streamLimit bounds replies over TCP: their length has two octets.
	streamLimit = dns.MaxMsgSize - 1
)

// Public is the authoritative server that the public realm asks.
type Public struct {
	settings  atomic.Pointer[publicSettings]
	detector  *detector
	aliases   *aliases
	rate      *rate
	cookies   *cookies
	journal   *Journal
	published published
	notifier  notifier
	counters  counters
	seed      maphash.Seed
	streamed  atomic.Uint64 // queries over TCP that allocate; makes their IDs differ
	now       func() model.Instant
	limits    Limits
	logger    *slog.Logger
}

type publicSettings struct {
	authority *authority
	directory func() Directory
	allocator Allocator
	verify    Verify
	aliases   *aliases
	await     func(asker netip.Addr, long time.Duration)

	clientSubnet []netip.Prefix
	keys         keys
	serial       uint32
	source       netip.Addr
}

// NewPublic checks the options and makes a server; Serve starts it.
func NewPublic(options PublicOptions) (*Public, error) {
	detector, err := newDetector()
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	aliases, err := newAliases()
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	cookies, err := newCookies(options.CookieSecrets, options.Wall)
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	journal, err := journalOr(options.Journal)
	if err != nil {
		return nil, fmt.Errorf("make public name server: %w", err)
	}
	p := &Public{
		journal: journal, detector: detector, aliases: aliases, rate: newRate(options.StaticRate), cookies: cookies, notifier: newNotifier(), seed: maphash.MakeSeed(), now: clockOr(options.Now),
		counters: counters{took: options.Took}, limits: options.Limits.withDefaults(), logger: loggerOr(options.Logger),
	}
	return p, p.Reconfigure(options)
}

// Reconfigure replaces everything but Journal, StaticRate, CookieSecrets, Took, Now,
// Wall, Logger and Limits, and publishes. Messages under way are finished with
// the old settings. On an error nothing changes.
func (p *Public) Reconfigure(options PublicOptions) error {
	if options.Directory == nil || options.Allocator == nil {
		return errors.New("public name server needs a directory and an allocator")
	}
	authority, err := newAuthority(options.Zones, options.Nameserver, options.NameserverAddress, options.Serial, p.journal)
	if err != nil {
		return fmt.Errorf("configure public name server: %w", err)
	}
	keys, err := newKeys(options.Keys)
	if err != nil {
		return fmt.Errorf("configure public name server: %w", err)
	}
	if err := keys.serve(options.Zones); err != nil {
		return fmt.Errorf("configure public name server: %w", err)
	}
	p.settings.Store(&publicSettings{
		keys: keys, serial: options.Serial, source: options.Source,
		authority: authority, directory: options.Directory, allocator: options.Allocator,
		verify: options.Verify, aliases: p.aliases, await: options.Await, clientSubnet: slices.Clone(options.ClientSubnet),
	})
	p.Publish()
	return nil
}

// SetCookieSecrets replaces the secrets of DNS cookies: the first makes them, all are good.
func (p *Public) SetCookieSecrets(secrets []CookieSecret) error { return p.cookies.use(secrets) }

// Serve answers on the sockets until ctx ends, then returns nil. Either socket
// may be nil; packets must be a *net.UDPConn. Serve closes both. Meanwhile
// secondaries are told of changes.
func (p *Public) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	notifying, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.notifier.run(notifying, p) })
	defer running.Wait()
	defer stop()
	return serve(ctx, p, packets, listener, &p.counters, p.limits, p.logger)
}

// Statistics returns the counters since the server was made.
func (p *Public) Statistics() Statistics { return p.counters.read() }

// decide is pure: what q from asker leads to under these settings.
// proved says that the asker receives what is sent to its address.
func (s *publicSettings) decide(q *query, fault problem, proved bool, asker netip.Addr, now model.Instant) decision {
	d, ok := preliminary(q, fault)
	if !ok {
		return d
	}
	believed := q.edns.subnet.present && s.believes(asker)
	if believed && q.edns.subnet.malformed {
		return failure(dns.RcodeFormatError) // RFC 7871 §7.1.2
	}
	if q.edns.cookie.malformed {
		return failure(dns.RcodeFormatError) // RFC 7873 §5.2.2
	}
	zone, ok := s.authority.zone(q)
	if !ok {
		return refusal(dns.RcodeRefused, reasonOutside)
	}
	directory := s.directory()
	if d, ok = s.decideAlias(q, zone, directory, asker, now); !ok {
		d = s.authority.decide(q, zone, directory)
	}
	d.zone = zone.name
	d.reply.subnet = believed
	if d.action == allocate && !s.verified(proved) {
		d.action = send
		d.reply.truncated = true
	}
	return d
}

// verified reports whether askers whose addresses are proved or not count as verified.
func (s *publicSettings) verified(proved bool) bool { return proved || s.verify == VerifyNone }

// limit is how long the reply may be. Over UDP it never exceeds the query, unless
// the asker's address is proved or the answer is static; see the package's
// documentation.
func (s *publicSettings) limit(q *query, length int, transport Transport, proved bool, d *decision) int {
	r := &d.reply
	switch {
	case transport == TCP:
		return streamLimit
	case proved || d.static:
		return min(ownSize, q.udpSize())
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
	if settings.isSpecial(&q, fault) {
		if reply, later, handled := p.special(ctx, settings, &q, message, from, transport, buf); handled {
			return reply, later
		}
	}
	return p.plain(ctx, settings, &q, fault, message, from, transport, false, buf)
}

// plain answers without a look at signatures. signed says that a good one will
// be added to the reply: who has it may be told everything over UDP, but as its
// address is not part of it, gets no address lent for it.
func (p *Public) plain(ctx context.Context, settings *publicSettings, q *query, fault problem, message []byte, from netip.AddrPort, transport Transport, signed bool, buf []byte) ([]byte, continuation) {
	now, proved := p.now(), transport == TCP
	var server [serverCookie]byte
	if q.edns.cookie.present && !q.edns.cookie.malformed {
		var good bool
		good, server = p.cookies.check(&q.edns.cookie, from.Addr())
		proved = proved || good
	}
	d := settings.decide(q, fault, proved, from.Addr(), now)
	d.reply.cookie, d.reply.server = server[0] != 0, server
	if d.zone != "" {
		p.observe(settings, q, &d, from.Addr(), proved, now)
	}
	p.counters.countDecision(fault, &d)
	switch {
	case d.action == silence:
		return nil, nil
	case d.action == allocate && transport == TCP:
		kept, d := q.detached(), d
		return nil, func(ctx context.Context, buf []byte, _ sender) []byte {
			p.allocate(ctx, settings, kept, &d, from, TCP, true)
			return kept.render(buf, &d.reply, streamLimit)
		}
	case d.action == allocate:
		p.allocate(ctx, settings, q, &d, from, UDP, proved)
	}
	d.static = d.static || signed
	limit := settings.limit(q, len(message), transport, proved, &d)
	if signed {
		limit -= signatureRoom
	}
	out := q.render(buf, &d.reply, limit)
	if excess := len(out) - len(buf) - len(message); d.static && !proved && !signed && !p.rate.take(now, from.Addr(), excess) {
		p.counters.slowed.Add(1)
		d.reply.truncated = true
		out = q.render(buf, &d.reply, len(message))
	}
	p.counters.countReply(out[len(buf):])
	return out, nil
}
