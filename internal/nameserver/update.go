package nameserver

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// What a challenge is (RFC 8555 §8.4), and how many there may be.
const (
	challengeLabel   = "_acme-challenge."
	challengeText    = 255  // octets of one; those of ACME have 43
	challengeTTL     = 300  // seconds at the most
	challengesByName = 16   // the oldest make room: clients forget to take theirs away
	challengesByZone = 1024 // more are refused
)

// update changes the challenges of a zone (RFC 2136). An update is done whole or
// not at all, and is on the disk before it is answered.
func (p *Public) update(m *dns.Msg, sig signature, buf []byte) []byte {
	p.published.changing.Lock()
	defer p.published.changing.Unlock()
	settings := p.settings.Load()
	directory := settings.directory()
	z, rcode := settings.updatable(m, sig.key.name, directory)
	if rcode != dns.RcodeSuccess {
		p.counters.refused.Add(1)
		return p.reply(m, rcode, sig, buf)
	}
	u := updater{
		authority: settings.authority, zone: z, apex: modelName(m.Question[0].Name), directory: directory, records: z.live.Load().records(),
	}
	if rcode = require(&u, m.Answer); rcode == dns.RcodeSuccess {
		rcode = u.apply(m.Ns)
	}
	if rcode == dns.RcodeSuccess && u.changed {
		c := settings.authority.content(z, directory, u.records)
		if err := p.journal.change(z.name, u.records, c.digest); err != nil {
			p.logger.Error("update not stored", "zone", z.name, "key", sig.key.name, "error", err)
			return p.reply(m, dns.RcodeServerFailure, sig, buf)
		}
		p.replace(z, c)
		p.notifier.wake()
		p.counters.updates.Add(1)
	}
	p.logger.Info("update", "zone", z.name, "key", sig.key.name, "changed", u.changed && rcode == dns.RcodeSuccess, "answer", dns.RcodeToString[rcode])
	return p.reply(m, rcode, sig, buf)
}

// updatable is the zone that an update is for, if its key may change it
// (RFC 2136 §3.1, §3.3). Beside secondaries a lent name looks like a zone, and
// clients that look for the SOA name that.
func (s *publicSettings) updatable(m *dns.Msg, key model.Name, directory Directory) (z *served, rcode int) {
	if m.Question[0].Qtype != dns.TypeSOA || m.Question[0].Qclass != dns.ClassINET {
		return nil, dns.RcodeFormatError
	}
	apex := string(modelName(m.Question[0].Name))
	z, ok := s.authority.zoneOf(apex, false)
	switch {
	case !ok, apex != string(z.name) && apex != z.child(directory, apex):
		return nil, dns.RcodeNotAuth
	case !slices.Contains(z.updaters, key):
		return nil, dns.RcodeRefused
	}
	return z, dns.RcodeSuccess
}

// updater works on a copy of the challenges.
type updater struct {
	*authority
	zone      *served
	apex      model.Name // the zone's name, or that of a child
	directory Directory
	records   []dns.RR // the challenges
	changed   bool
}

// covers reports whether a name is in the zone that the update is for.
func (u *updater) covers(name string) bool {
	z, ok := u.zoneOf(name, false)
	return ok && z == u.zone && model.Name(name).In(u.apex)
}

// apply does the updates in their order (RFC 2136 §3.4.2). Whatever is not the
// TXT of a challenge is refused.
func (u *updater) apply(updates []dns.RR) (rcode int) {
	for _, rr := range updates {
		if rcode := u.permit(rr); rcode != dns.RcodeSuccess {
			return rcode
		}
	}
	for _, rr := range updates {
		h := rr.Header()
		switch name := dns.CanonicalName(h.Name); h.Class {
		case dns.ClassANY:
			u.remove(func(old dns.RR) bool { return old.Header().Name == name })
		case dns.ClassNONE:
			u.remove(func(old dns.RR) bool { return sameText(old, rr, name) })
		default:
			if rcode := u.put(rr.(*dns.TXT), name); rcode != dns.RcodeSuccess {
				return rcode
			}
		}
	}
	return dns.RcodeSuccess
}

// permit looks at one update by itself (RFC 2136 §3.4.1.3).
func (u *updater) permit(rr dns.RR) (rcode int) {
	h := rr.Header()
	name := dns.CanonicalName(h.Name)
	if !u.covers(name) {
		return dns.RcodeNotZone
	}
	text, isText := rr.(*dns.TXT)
	switch h.Class {
	case dns.ClassINET:
		if isText && (len(text.Txt) == 0 || len(strings.Join(text.Txt, "")) > challengeText) {
			return dns.RcodeFormatError
		}
	case dns.ClassANY:
		if h.Ttl != 0 || h.Rdlength != 0 {
			return dns.RcodeFormatError
		}
		isText = isText || h.Rrtype == dns.TypeANY
	case dns.ClassNONE:
		if h.Ttl != 0 {
			return dns.RcodeFormatError
		}
	default:
		return dns.RcodeFormatError
	}
	_, _, delegated := u.zone.data.Cut(name)
	alias := len(u.zone.data.Node(name).Set(dns.TypeCNAME)) > 0 // its target is where the challenge belongs
	if !isText || !strings.HasPrefix(name, challengeLabel) || delegated || alias {
		return dns.RcodeRefused
	}
	return dns.RcodeSuccess
}

// put adds a challenge as the newest of its name.
func (u *updater) put(rr *dns.TXT, name string) (rcode int) {
	added := &dns.TXT{Hdr: header(name, dns.TypeTXT, min(rr.Hdr.Ttl, challengeTTL)), Txt: rr.Txt}
	if slices.ContainsFunc(u.records, func(old dns.RR) bool { return sameText(old, added, name) }) {
		return dns.RcodeSuccess
	}
	of := 0
	for _, old := range u.records {
		if old.Header().Name == name {
			of++
		}
	}
	if of >= challengesByName {
		first := slices.IndexFunc(u.records, func(old dns.RR) bool { return old.Header().Name == name })
		u.records = slices.Delete(slices.Clone(u.records), first, first+1)
	} else if len(u.records) >= challengesByZone {
		return dns.RcodeRefused
	}
	u.records, u.changed = append(u.records[:len(u.records):len(u.records)], added), true
	return dns.RcodeSuccess
}

func (u *updater) remove(gone func(dns.RR) bool) {
	before := len(u.records)
	u.records = slices.DeleteFunc(slices.Clone(u.records), gone)
	u.changed = u.changed || len(u.records) != before
}

// sameText compares a challenge with an update's record, whose class and TTL
// mean something else.
func sameText(old, rr dns.RR, name string) bool {
	text, ok := rr.(*dns.TXT)
	return ok && old.Header().Name == name && slices.Equal(old.(*dns.TXT).Txt, text.Txt)
}
