package nameserver

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// Registrar has the hosts that register themselves by updates (RFC 2136).
type Registrar interface {
	// Registers reports whether a key registers hosts of a zone.
	Registers(zone, key model.Name) bool
	// Registration is what a key has registered of a name.
	Registration(zone, key, name model.Name) Registration
	// Signed is when the last change of a key was signed that an earlier process made, in Unix seconds. It does not wait.
	Signed(key model.Name) uint64
	// Register puts changes into force, all of them or none. They are on the disk when it returns. signed is when they were. An
	// error is ErrNotKept, or says why they are refused.
	Register(zone, key model.Name, changes map[model.Name]Registration, signed uint64) error
}

// Registration is what is registered of a name. The zero value is nothing.
type Registration struct {
	Address netip.Addr // the zero value: it is no host, and has only an identifier
	Clients []string   // DHCID records in base64: whose name it is (RFC 4701)
}

// Empty reports that nothing is registered.
func (r Registration) Empty() bool { return !r.Address.IsValid() && len(r.Clients) == 0 }

// ErrNotKept is that the disk does not take a change, so that nothing has changed.
var ErrNotKept = errors.New("the change cannot be kept")

const (
	registrationTTL = recordTTL
	mostClients     = 4  // DHCID records of a name
	mostDigest      = 64 // octets of one: by SHA-256 there are 35
	mostChanged     = 64
)

// register is what Private has for updates.
type register struct {
	registrar Registrar
	changing  sync.Mutex // one update at a time
	*seen
}

// update answers an update of the hosts of a zone (RFC 2136). It is done whole or not at all, and is on the disk before it is
// answered: that takes too long for a reader of packets, but what changes nothing waits for nothing.
func (p *Private) update(settings *privateSettings, q *query, message []byte, from netip.AddrPort, buf []byte) ([]byte, continuation) {
	m := new(dns.Msg)
	if err := m.Unpack(message); err != nil || len(m.Question) != 1 {
		return p.declined(q, message, failure(dns.RcodeFormatError), buf), nil
	}
	tsig := m.IsTsig()
	switch {
	case q.signed && (tsig == nil || tsig.Algorithm == ""):
		return p.declined(q, message, failure(dns.RcodeFormatError), buf), nil
	case tsig == nil:
		return p.declined(q, message, refusal(dns.RcodeRefused, reasonUnsigned), buf), nil
	}
	sig, rejection := settings.keys.verify(message, tsig)
	if rejection != nil {
		p.counters.badSignature.Add(1)
		return settings.keys.reject(p.logger, m, tsig, rejection, buf), nil
	}
	switch first, rcode := p.register.admit(sig.key.name, tsig, from, p.register.registrar.Signed(sig.key.name), time.Now()); first {
	case answeredBefore:
		return written(p.logger, buf, said(m, rcode), &sig), nil
	case replayed:
		p.counters.badSignature.Add(1)
		return settings.keys.reject(p.logger, m, tsig, rejected(tsig, dns.RcodeBadTime), buf), nil
	case tooMany:
		p.counters.refused.Add(1)
		return written(p.logger, buf, said(m, dns.RcodeRefused), &sig), nil
	case waits:
		p.counters.waitLimited.Add(1)
		return nil, nil
	}
	return nil, func(_ context.Context, buf []byte, _ sender) []byte {
		rcode := p.register.do(settings, m, tsig, sig.key.name)
		if rcode == dns.RcodeSuccess {
			p.counters.updates.Add(1)
		} else {
			p.counters.refused.Add(1)
		}
		p.logger.Info("update", "zone", m.Question[0].Name, "key", sig.key.name, "answer", dns.RcodeToString[rcode])
		return written(p.logger, buf, said(m, rcode), &sig)
	}
}

// declined is an answer without a signature.
func (p *Private) declined(q *query, message []byte, d decision, buf []byte) []byte {
	p.counters.countDecision(none, &d)
	return q.render(buf, &d.reply, max(len(message), minimumUDPSize))
}

// do is an update that is admitted.
func (r *register) do(settings *privateSettings, m *dns.Msg, tsig *dns.TSIG, key model.Name) (rcode int) {
	r.changing.Lock()
	defer r.changing.Unlock()
	rcode = r.change(settings, m, key, tsig.TimeSigned)
	r.note(key, tsig.MAC, rcode, time.Now())
	return rcode
}

// change puts an update into force.
func (r *register) change(settings *privateSettings, m *dns.Msg, key model.Name, signed uint64) (rcode int) {
	question := m.Question[0]
	if question.Qtype != dns.TypeSOA || question.Qclass != dns.ClassINET {
		return dns.RcodeFormatError
	}
	apex := modelName(question.Name)
	z, ok := settings.authority.zoneOf(string(apex), false)
	switch {
	case !ok || z.name != apex:
		return dns.RcodeNotAuth
	case !r.registrar.Registers(apex, key):
		return dns.RcodeRefused
	}
	u := registration{register: r, authority: settings.authority, zone: z, key: key, directory: settings.directory(), changes: map[model.Name]Registration{}}
	if rcode = require(&u, m.Answer); rcode == dns.RcodeSuccess {
		rcode = u.apply(m.Ns)
	}
	if rcode != dns.RcodeSuccess || len(u.changes) == 0 {
		return rcode
	}
	switch err := r.registrar.Register(apex, key, u.changes, signed); {
	case errors.Is(err, ErrNotKept):
		return dns.RcodeServerFailure
	case err != nil:
		return dns.RcodeRefused
	}
	return dns.RcodeSuccess
}

// registration is an update on its way: contents of the zone, and what it changes.
type registration struct {
	*register
	*authority
	zone      *served
	key       model.Name
	directory Directory
	changes   map[model.Name]Registration
}

func (u *registration) covers(name string) bool {
	z, ok := u.zoneOf(name, false)
	return ok && z == u.zone
}

// of is what is registered of a name, as far as the update has come.
func (u *registration) of(name model.Name) Registration {
	if changed, is := u.changes[name]; is {
		return changed
	}
	return u.registrar.Registration(u.zone.name, u.key, name)
}

// set is what the zone has of a name and type for the inside.
func (u *registration) set(name string, rrtype uint16) []dns.RR {
	records := slices.Clone(u.zone.data.Node(name).Set(rrtype))
	switch rrtype {
	case dns.TypeSOA:
		if name == string(u.zone.name) {
			records = append(records, u.zone.start(name, u.zone.soa.Hdr.Ttl))
		}
	case dns.TypeA:
		if entry, known := u.directory.Find(model.Name(name)); known && entry.Encloser == "" {
			records = append(records, &dns.A{Hdr: header(name, dns.TypeA, registrationTTL), A: entry.Address.AsSlice()})
		}
	case dns.TypeDHCID:
		for _, client := range u.of(model.Name(name)).Clients {
			records = append(records, &dns.DHCID{Hdr: header(name, dns.TypeDHCID, registrationTTL), Digest: client})
		}
	}
	return records
}

// inUse reports a name that owns something (RFC 2136 §2.4.4).
func (u *registration) inUse(name string) bool {
	return u.directory.Exists(model.Name(name)) || !u.zone.data.Node(name).Empty() || !u.of(model.Name(name)).Empty()
}

// apply gathers the updates in their order (RFC 2136 §3.4).
func (u *registration) apply(updates []dns.RR) (rcode int) {
	for _, rr := range updates {
		if rcode := u.permit(rr); rcode != dns.RcodeSuccess {
			return rcode
		}
	}
	before := map[model.Name]Registration{}
	for _, rr := range updates {
		name := modelName(rr.Header().Name)
		if _, known := before[name]; !known {
			before[name] = u.of(name)
		}
		next, rcode := changed(u.of(name), rr)
		if rcode != dns.RcodeSuccess {
			return rcode
		}
		if u.changes[name] = next; len(u.changes) > mostChanged {
			return dns.RcodeRefused
		}
	}
	for name, was := range before {
		if now := u.changes[name]; now.Address == was.Address && slices.Equal(now.Clients, was.Clients) {
			delete(u.changes, name)
		}
	}
	return dns.RcodeSuccess
}

// permit looks at one update by itself (RFC 2136 §3.4.1.3). Only addresses and identifiers are registered; to take away what
// cannot be there is no fault.
func (u *registration) permit(rr dns.RR) (rcode int) {
	h := rr.Header()
	if !u.covers(dns.CanonicalName(h.Name)) {
		return dns.RcodeNotZone
	}
	meta := isTransferOrMeta(h.Rrtype) || h.Rrtype == dns.TypeANY || h.Rrtype == dns.TypeOPT
	switch h.Class {
	case dns.ClassINET:
		switch record := rr.(type) {
		case *dns.A:
			if len(record.A) == 0 {
				return dns.RcodeFormatError
			}
		case *dns.DHCID:
			digest, err := base64.StdEncoding.DecodeString(record.Digest)
			if err != nil || len(digest) == 0 {
				return dns.RcodeFormatError
			}
			if len(digest) > mostDigest {
				return dns.RcodeRefused
			}
		default:
			if meta {
				return dns.RcodeFormatError
			}
			return dns.RcodeRefused
		}
	case dns.ClassANY:
		if h.Ttl != 0 || h.Rdlength != 0 || meta && h.Rrtype != dns.TypeANY {
			return dns.RcodeFormatError
		}
	case dns.ClassNONE:
		if h.Ttl != 0 || meta {
			return dns.RcodeFormatError
		}
	default:
		return dns.RcodeFormatError
	}
	return dns.RcodeSuccess
}

// changed is a registration after one update. A host has one address: another takes its place when it is taken away first.
func changed(r Registration, rr dns.RR) (next Registration, rcode int) {
	h := rr.Header()
	a, isAddress := rr.(*dns.A)
	id, isClient := rr.(*dns.DHCID)
	var address netip.Addr
	if isAddress {
		address, _ = netip.AddrFromSlice(a.A.To4())
	}
	switch {
	case h.Class == dns.ClassINET && isAddress:
		if r.Address.IsValid() && r.Address != address {
			return r, dns.RcodeRefused
		}
		r.Address = address
	case h.Class == dns.ClassINET && isClient:
		if slices.Contains(r.Clients, id.Digest) {
			return r, dns.RcodeSuccess
		}
		if len(r.Clients) >= mostClients {
			return r, dns.RcodeRefused
		}
		r.Clients = append(slices.Clone(r.Clients), id.Digest)
	case h.Class == dns.ClassANY && h.Rrtype == dns.TypeANY:
		return Registration{}, dns.RcodeSuccess
	case h.Class == dns.ClassANY && h.Rrtype == dns.TypeA, h.Class == dns.ClassNONE && isAddress && r.Address == address:
		r.Address = netip.Addr{}
	case h.Class == dns.ClassANY && h.Rrtype == dns.TypeDHCID:
		r.Clients = nil
	case h.Class == dns.ClassNONE && isClient:
		r.Clients = slices.DeleteFunc(slices.Clone(r.Clients), func(c string) bool { return c == id.Digest })
	}
	return r, dns.RcodeSuccess
}
