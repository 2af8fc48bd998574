package nameserver

import (
	"context"
	"maps"
	"slices"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// transferSize is how many octets of records go into one message of a transfer.
const transferSize = 16 << 10

// modelName is a name of a message in canonical form.
func modelName(name string) model.Name { return model.Name(dns.CanonicalName(name)) }

// transfer gives a zone to one of its secondaries: whole (AXFR, RFC 5936) or by
// what has changed (IXFR, RFC 1995).
func (p *Public) transfer(settings *publicSettings, m *dns.Msg, sig signature, transport Transport, buf []byte) ([]byte, continuation) {
	question := m.Question[0]
	z, ok := settings.authority.zones[string(modelName(question.Name))]
	if !ok {
		return p.reply(m, dns.RcodeNotAuth, sig, buf), nil // RFC 5936 §2.2.1
	}
	mayCopy := slices.ContainsFunc(z.secondaries, func(s Secondary) bool { return s.Key == sig.key.name })
	current := p.published.newest(z.name)
	if !mayCopy || current == nil {
		p.counters.refused.Add(1)
		return p.reply(m, dns.RcodeRefused, sig, buf), nil
	}
	var records []dns.RR
	switch {
	case question.Qtype == dns.TypeAXFR && transport == UDP:
		return p.reply(m, dns.RcodeFormatError, sig, buf), nil // RFC 5936 §4.2: it is not defined
	case question.Qtype == dns.TypeAXFR:
		records = current.whole()
	default:
		have, ok := serialOf(m)
		if !ok {
			return p.reply(m, dns.RcodeFormatError, sig, buf), nil
		}
		if records = p.changes(z.name, current, have); transport == UDP {
			records = []dns.RR{current.soa} // come by TCP (RFC 1995 §2)
		}
	}
	if len(records) > 1 {
		p.counters.transfers.Add(1)
	}
	return nil, func(_ context.Context, buf []byte, more sender) []byte {
		return p.give(m, sig, records, buf, more)
	}
}

// serialOf is what an IXFR request says the asker has.
func serialOf(m *dns.Msg) (serial uint32, ok bool) {
	if len(m.Ns) != 1 {
		return 0, false
	}
	soa, ok := m.Ns[0].(*dns.SOA)
	if !ok {
		return 0, false
	}
	return soa.Serial, true
}

// whole is the zone from SOA to SOA, in a fixed order.
func (c *content) whole() []dns.RR {
	records := make([]dns.RR, 0, len(c.records)+2)
	records = append(records, c.soa)
	for _, text := range slices.Sorted(maps.Keys(c.records)) {
		records = append(records, c.records[text])
	}
	return append(records, c.soa)
}

// changes are what makes the zone of a serial the current one: nothing but the
// SOA if it is that, one difference from that to this if it is kept and is
// shorter, else the whole zone (RFC 1995 §4).
func (p *Public) changes(zone model.Name, current *content, have uint32) []dns.RR {
	if !later(current.soa.Serial, have) {
		return []dns.RR{current.soa}
	}
	kept := p.published.since(zone, have)
	if len(kept) == 0 {
		return current.whole()
	}
	old := kept[0]
	records := []dns.RR{current.soa, old.soa}
	records = append(records, without(old, current)...)
	records = append(records, current.soa)
	records = append(records, without(current, old)...)
	if records = append(records, current.soa); len(records) >= len(current.records)+2 {
		return current.whole()
	}
	return records
}

// without are the records of one content that the other has not.
func without(one, other *content) []dns.RR {
	var records []dns.RR
	for _, text := range slices.Sorted(maps.Keys(one.records)) {
		if _, both := other.records[text]; !both {
			records = append(records, one.records[text])
		}
	}
	return records
}

// give sends the records in as many messages as they need; the last is returned.
func (p *Public) give(m *dns.Msg, sig signature, records []dns.RR, buf []byte, more sender) []byte {
	start := len(buf)
	for {
		n, size := 0, 0
		for n < len(records) && (n == 0 || size+dns.Len(records[n]) <= transferSize) {
			size += dns.Len(records[n])
			n++
		}
		r := new(dns.Msg).SetReply(m)
		r.Authoritative = true
		r.Answer = records[:n]
		wire := p.signed(buf[:start], r, &sig)
		if records = records[n:]; len(records) == 0 || wire == nil || !more(wire) {
			return wire
		}
	}
}
