package nameserver

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// allocate completes the reply with an address or with why there is none.
func (p *Public) allocate(ctx context.Context, settings *publicSettings, q *query, d *decision, from netip.AddrPort, transport Transport, proved bool) {
	r := &d.reply
	question := Question{
		Name: d.target, Client: from, Transport: transport, Verified: proved, ID: p.queryID(q, from, transport),
	}
	if r.subnet {
		// Other clients of the resolver may get other addresses (RFC 7871 §7.2.1).
		question.Subnet, r.scope = q.edns.subnet.client()
	}
	answer, err := settings.allocator.Allocate(ctx, question)
	if err == nil && !answer.Address.Is4() {
		err = fmt.Errorf("%w: the address %v is not IPv4", ErrFailed, answer.Address)
	}
	switch {
	case err == nil:
		p.counters.allocated.Add(1)
		r.answer = append(r.answer, addressRecord(d.owner, 0, answer.Address))
	case errors.Is(err, ErrExhausted):
		p.counters.exhausted.Add(1)
		// Over UDP the asker comes again over TCP, where the allocator waits.
		r.truncated = transport == UDP
		if transport == TCP {
			r.rcode, r.reason = dns.RcodeServerFailure, reasonExhausted
		}
	case errors.Is(err, ErrRefused):
		p.counters.limited.Add(1)
		r.rcode, r.reason = dns.RcodeRefused, reasonRefused
	default:
		p.counters.failed.Add(1)
		r.rcode, r.reason = dns.RcodeServerFailure, reasonFailed
		p.logger.LogAttrs(ctx, slog.LevelWarn, "no address lent", slog.String("name", string(d.target)),
			slog.String("client", from.String()), slog.Any("error", err))
	}
	if r.authoritative = r.rcode == dns.RcodeSuccess; !r.authoritative {
		r.answer = nil // a CNAME that leads nowhere
	}
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
