package nameserver

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// asked is a question on its way through upstream's answers and our zones.
type asked struct {
	*query
	before []dns.RR   // the CNAMEs that have led to target
	target model.Name // what upstream is asked
}

func (a *asked) question() dns.Question {
	return dns.Question{Name: string(a.target), Qtype: a.qtype, Qclass: a.qclass}
}

func (a *asked) key() cacheKey {
	return cacheKey{name: strings.ToLower(string(a.target)), qtype: a.qtype, do: a.edns.do, cd: a.flags&flagCD != 0}
}

// source finds what upstream says of a question, false where it cannot yet; nil
// where the server is stopping.
type source func(*asked) (found *upstreamReply, ok bool)

// forward answers from the cache, or leaves a continuation that asks upstream.
// The name may be another than was asked for: where a CNAME of ours leads.
func (p *Private) forward(settings *privateSettings, q *query, d *decision, asker netip.Addr, transport Transport, buf []byte) ([]byte, continuation) {
	a := &asked{query: q, before: d.reply.answer, target: d.target}
	known := func(a *asked) (*upstreamReply, bool) { return settings.cache.get(p.now(), a.key()) }
	here := func(a *asked) (*upstreamReply, bool) {
		if settings.isAbroad(string(a.target)) {
			return nil, false // each asker has an address of its own
		}
		return known(a)
	}
	if out, ok := p.resolve(settings, a, here, transport, buf); ok {
		p.counters.cacheHits.Add(1)
		return out, nil
	}
	waits, admission := p.waiting.enter(asker, settings.waitLimit, p.now())
	if admission != admitted {
		return p.overdo(admission, settings, q, asker, transport, buf), nil
	}
	p.counters.cacheMisses.Add(1)
	kept := &asked{query: q.detached(), before: d.reply.answer, target: d.target}
	return nil, func(ctx context.Context, buf []byte, _ sender) []byte {
		defer p.waiting.leave(waits)
		out, _ := p.resolve(settings, kept, func(a *asked) (*upstreamReply, bool) {
			if settings.isAbroad(string(a.target)) {
				if found, ok := p.findAbroad(ctx, settings, a, asker); ok {
					return found, true
				}
			}
			if found, ok := known(a); ok {
				return found, true
			}
			return p.lookup(ctx, settings, waits, a.key(), a.question()), true
		}, transport, buf)
		if out == nil && waits.hasGivenWay() {
			return p.overdo(overAll, settings, kept.query, asker, transport, buf)
		}
		return out
	}
}

// resolve makes the answer of what upstream says, and of our own data wherever
// its CNAMEs lead to a name of ours; ours may lead back. ok is false where find
// does not know yet.
func (p *Private) resolve(settings *privateSettings, a *asked, find source, transport Transport, buf []byte) (out []byte, ok bool) {
	for range maxChain {
		found, ok := find(a)
		if !ok || found == nil {
			return nil, ok
		}
		if found.own == "" {
			return p.pass(found, a.query, a.before, transport, buf), true
		}
		d := settings.authority.lookup(found.own, a.qtype, settings.directory())
		d.reply.answer = slices.Concat(a.before, found.aged(p.now()), d.reply.answer)
		if d.action != forward {
			d.reply.recursion, d.reply.authoritative = true, false
			out = a.render(buf, &d.reply, limit(a.query, transport))
			p.counters.countReply(out[len(buf):])
			return out, true
		}
		a.before, a.target = d.reply.answer, d.target
	}
	return a.render(buf, &reply{rcode: dns.RcodeServerFailure, recursion: true, reason: reasonLoop}, limit(a.query, transport)), true
}

// lookup asks upstream once for all who want the same at the same time. It finds
// nil where the server is stopping, or the question gave way.
func (p *Private) lookup(ctx context.Context, settings *privateSettings, waits *wait, key cacheKey, question dns.Question) *upstreamReply {
	found, joined := p.flights.join(ctx, flightKey{settings, key}, waits.gaveWay, func(ctx context.Context) *upstreamReply {
		m, err := settings.upstream.ask(ctx, question, key.do, key.cd)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = readable(m, question.Name)
		}
		found := &upstreamReply{rcode: dns.RcodeServerFailure, stored: p.now(), ttl: failureTTL}
		if err != nil {
			p.counters.upstreamFailed.Add(1)
			p.logger.Debug("upstream DNS", "error", err)
		} else {
			found = p.clean(settings, m, question)
		}
		settings.cache.put(key, found)
		return found
	})
	if joined {
		p.counters.coalesced.Add(1)
	}
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
