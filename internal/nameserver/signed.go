package nameserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// signatureRoom is what a reply over UDP leaves free for its TSIG record: two
// names, 64 octets of hash and the rest.
const signatureRoom = 2*64 + 64 + 32

// isSpecial reports a request that the library has to read: a signed one, an
// update, or one for a whole zone, where there are keys for that.
func (s *publicSettings) isSpecial(q *query, fault problem) bool {
	switch fault {
	case none:
		transfer := q.qclass == dns.ClassINET && (q.qtype == dns.TypeAXFR || q.qtype == dns.TypeIXFR)
		return q.signed || transfer && len(s.keys) > 0
	case notImplemented:
		return q.opcode() == dns.OpcodeUpdate && s.updates()
	default:
		return false
	}
}

// updates reports whether anybody may change anything.
func (s *publicSettings) updates() bool {
	for _, z := range s.authority.zones {
		if len(z.updaters) > 0 {
			return true
		}
	}
	return false
}

// special answers such a request. handled is false where the ordinary way is
// right for it.
func (p *Public) special(ctx context.Context, settings *publicSettings, q *query, message []byte, from netip.AddrPort, transport Transport, buf []byte) (out []byte, later continuation, handled bool) {
	m := new(dns.Msg)
	update := q.opcode() == dns.OpcodeUpdate
	if err := m.Unpack(message); err != nil || len(m.Question) != 1 {
		return p.finish(q, failure(dns.RcodeFormatError), buf), nil, true
	}
	tsig := m.IsTsig()
	switch {
	// It is there and not the last record, or the library has read it without its data (RFC 8945 §5.1, §5.2).
	case tsig == nil && q.signed, tsig != nil && tsig.Algorithm == "":
		return p.finish(q, failure(dns.RcodeFormatError), buf), nil, true
	case tsig == nil && update:
		return p.finish(q, refusal(dns.RcodeRefused, reasonUnsigned), buf), nil, true
	case tsig == nil:
		return nil, nil, false
	}
	// Who has a key may be told more over UDP than was asked: its packets sent
	// again by others get answers for 300 s, of at most 1,232 octets each.
	sig, rejection := settings.keys.verify(message, tsig)
	if rejection != nil {
		p.counters.badSignature.Add(1)
		out = p.reject(settings, m, tsig, rejection, buf)
		if transport == UDP && len(out)-len(buf) > len(message) {
			// Names that were compressed, or our time: more than a forged source may get.
			out = p.finish(q, decision{reply: reply{truncated: true}}, buf)
		}
		return out, nil, true
	}
	switch {
	case update: // to the disk and back takes too long for a reader of packets
		return nil, func(_ context.Context, buf []byte, _ sender) []byte { return p.update(m, sig, buf) }, true
	case q.qtype == dns.TypeAXFR || q.qtype == dns.TypeIXFR:
		out, later = p.transfer(settings, m, sig, transport, buf)
		return out, later, true
	}
	wire, wait := p.plain(ctx, settings, q, none, message, from, transport, true, nil)
	if wait == nil {
		return p.resign(wire, sig, buf), nil, true
	}
	return nil, func(ctx context.Context, buf []byte, _ sender) []byte { return p.resign(wait(ctx, nil, nil), sig, buf) }, true
}

// finish writes a reply without records, which is never longer than its request.
func (p *Public) finish(q *query, d decision, buf []byte) []byte {
	p.counters.countDecision(none, &d)
	return q.render(buf, &d.reply, len(q.message))
}

// resign signs a reply that is written already.
func (p *Public) resign(wire []byte, sig signature, buf []byte) []byte {
	m := new(dns.Msg)
	if err := m.Unpack(wire); err != nil {
		p.logger.Error("own reply not read", "error", err)
		return nil
	}
	return p.signed(buf, m, &sig)
}

// signed writes a signed message; nil, which is silence, where that fails.
func (p *Public) signed(buf []byte, m *dns.Msg, sig *signature) []byte {
	return written(p.logger, buf, m, sig)
}

// reply is the answer to m without records, signed.
func (p *Public) reply(m *dns.Msg, rcode int, sig signature, buf []byte) []byte {
	return written(p.logger, buf, said(m, rcode), &sig)
}

// reject says what is wrong with a signature.
func (p *Public) reject(settings *publicSettings, m *dns.Msg, tsig, rejection *dns.TSIG, buf []byte) []byte {
	return settings.keys.reject(p.logger, m, tsig, rejection, buf)
}

func said(m *dns.Msg, rcode int) *dns.Msg {
	r := new(dns.Msg).SetReply(m)
	r.Rcode = rcode
	return r
}

func written(logger *slog.Logger, buf []byte, m *dns.Msg, sig *signature) []byte {
	out, err := sig.sign(buf, m)
	if err != nil {
		logger.Error("reply not signed", "error", err)
		return nil
	}
	return out
}

// reject says what is wrong with a signature, signed itself only where the
// asker has the key and the wrong time (RFC 8945 §5.2.3, §5.3.2).
func (k keys) reject(logger *slog.Logger, m *dns.Msg, tsig, rejection *dns.TSIG, buf []byte) []byte {
	r := said(m, dns.RcodeNotAuth)
	if rejection.Error == dns.RcodeBadTime {
		rejection.OtherData = fmt.Sprintf("%012x", time.Now().Unix())
		rejection.OtherLen = 6
	}
	// Who forwarded the request may have given it an ID of their own; the library writes the Original ID into the header.
	rejection.OrigId = r.Id
	r.Extra = []dns.RR{rejection}
	key := k[modelName(tsig.Hdr.Name)]
	wire, _, err := dns.TsigGenerate(r, key.secret, tsig.MAC, false)
	if err != nil {
		logger.Error("rejection not written", "error", err)
		return nil
	}
	return append(buf, wire...)
}
