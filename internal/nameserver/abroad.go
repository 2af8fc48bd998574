package nameserver

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// reverseTTL of the name that stands for an address: no longer than the address is answered for, in seconds.
const reverseTTL = 30

// Abroad answers for names behind edges. All methods may be called concurrently.
type Abroad interface {
	// Owns reports whether some edge serves a name. It does no I/O.
	Owns(name model.Name) bool
	// Find is the address that stands for a name, for one asker. It waits for the other edge. Its errors are ErrNotAbroad, an
	// *AbroadError, and that of ctx.
	Find(ctx context.Context, q AbroadQuestion) (AbroadAnswer, error)
	// Reverse is the name that an address stands for, as an asker knows it.
	Reverse(asker, address netip.Addr) (name model.Name, ok bool)
}

// AbroadQuestion is an A question of a host inside.
type AbroadQuestion struct {
	Name  model.Name // canonical
	Asker netip.Addr
}

// AbroadAnswer is an IPv4 address, and how long it may be remembered.
type AbroadAnswer struct {
	Address netip.Addr
	TTL     time.Duration
}

// ErrNotAbroad is of a name that is to be asked as before edges.
var ErrNotAbroad = errors.New("no edge serves the name")

// AbroadError is why there is no address.
type AbroadError struct {
	Code    uint16 // extended DNS error (RFC 8914)
	Text    string
	Refused bool // REFUSED, else SERVFAIL
}

// Error implements error.
func (e *AbroadError) Error() string { return e.Text }

// isAbroad reports whether an edge serves a name, in whatever letters.
func (s *privateSettings) isAbroad(name string) bool {
	return s.abroad != nil && s.abroad.Owns(model.Name(dns.CanonicalName(name)))
}

// reverseAbroad answers for the reverse name of an address that stands for a name behind an edge.
func (s *privateSettings) reverseAbroad(q *query, asker netip.Addr) (d decision, ok bool) {
	if s.abroad == nil {
		return decision{}, false
	}
	address, octets, ok := reverseAddress(q.canonical)
	if !ok || octets != 4 {
		return decision{}, false
	}
	name, ok := s.abroad.Reverse(asker, address)
	if !ok {
		return decision{}, false
	}
	r := reply{authoritative: true}
	if q.qtype != dns.TypePTR {
		return s.authority.local(q.canonical).negative(r, dns.RcodeSuccess, reverseTTL), true
	}
	r.answer = []dns.RR{&dns.PTR{Hdr: header(q.asked(), dns.TypePTR, reverseTTL), Ptr: string(name)}}
	return decision{reply: r}, true
}

// findAbroad is what an asker is told of a name behind an edge. There is nothing but addresses: an HTTPS record, or an IPv6
// address, would lead around the edge. ok is false where the name is to be asked upstream; found is nil where the server is stopping.
func (p *Private) findAbroad(ctx context.Context, settings *privateSettings, a *asked, asker netip.Addr) (found *upstreamReply, ok bool) {
	name := model.Name(dns.CanonicalName(string(a.target)))
	found = &upstreamReply{stored: p.now()}
	if a.qtype != dns.TypeA {
		found.authority = []dns.RR{settings.authority.local(name).start(string(name), negativeTTL)}
		return found, true
	}
	answer, err := settings.abroad.Find(ctx, AbroadQuestion{Name: name, Asker: asker})
	var known *AbroadError
	switch {
	case err == nil:
		found.answer = []dns.RR{addressRecord(string(a.target), seconds(answer.TTL), answer.Address)}
	case errors.Is(err, ErrNotAbroad) && settings.upstream != nil:
		return nil, false
	case errors.Is(err, ErrNotAbroad):
		found.rcode, found.why = dns.RcodeRefused, reasonOutside
	case ctx.Err() != nil:
		return nil, true
	case errors.As(err, &known):
		if found.rcode = dns.RcodeServerFailure; known.Refused {
			found.rcode = dns.RcodeRefused
		}
		found.why = reason{known.Code, known.Text}
	default:
		found.rcode = dns.RcodeServerFailure
		p.logger.Warn("name behind an edge not found", "name", name, "error", err)
	}
	return found, true
}
