package nameserver

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// clean is what may be passed on of upstream's answer to a question.
// Records of our zones are ours to tell: whoever serves other names could else
// say anything about them. Addresses that lead inside are taken out where the
// filter does not allow them; names that our own zones delegate may have them.
func (p *Private) clean(settings *privateSettings, m *dns.Msg, question dns.Question) *upstreamReply {
	own := ""
	if question.Qtype != dns.TypeCNAME && question.Qtype != dns.TypeANY { // which go no further
		own = settings.authority.chainEnd(m.Answer, question.Name)
	}
	var cut int
	for _, section := range []*[]dns.RR{&m.Answer, &m.Ns, &m.Extra} {
		before := len(*section)
		*section = slices.DeleteFunc(*section, func(rr dns.RR) bool { return settings.authority.ours(rr.Header().Name) })
		cut += before - len(*section)
	}
	if cut > 0 {
		p.counters.ownRemoved.Add(1)
	}
	if own != "" {
		m.Rcode, m.Ns, m.Extra = dns.RcodeSuccess, nil, nil // they are about what is ours
	}
	blocked := p.rebound(settings, m, question.Name)
	found := newUpstreamReply(m, own, p.now())
	if blocked {
		found.why = reasonRebind
	}
	found.authenticated = found.authenticated && cut == 0 && !blocked
	return found
}

// rebound takes the addresses that lead inside out of a message.
func (p *Private) rebound(settings *privateSettings, m *dns.Msg, name string) (blocked bool) {
	canonical := dns.CanonicalName(name)
	if f := settings.rebind; f == nil || f.Allows(canonical) || settings.authority.holds(canonical) {
		return false
	}
	for _, section := range []*[]dns.RR{&m.Answer, &m.Ns, &m.Extra} {
		kept, removed := settings.rebind.Clean(*section)
		if *section = kept; len(removed) == 0 {
			continue
		}
		if !blocked {
			p.counters.rebindBlocked.Add(1)
		}
		if blocked = true; p.cut.due(p.now()) {
			p.logger.Warn("possible DNS rebinding", "hint", "an address inside was taken out of an answer; if it belongs there, list the name in dns.rebind_domain_ok",
				"name", name, "address", removed[0])
		}
	}
	return blocked
}

// ours reports whether our zones say what a name is: it is in one, and not in what
// that delegates.
func (a *authority) ours(name string) bool {
	name = dns.CanonicalName(name)
	zone, ok := a.zoneOf(name, false)
	if !ok {
		return false
	}
	_, _, delegated := zone.data.Cut(name)
	return !delegated
}

// chainEnd follows the CNAMEs of an answer from name to the first name of ours,
// and returns that as it is written; "" where they lead to none.
func (a *authority) chainEnd(answer []dns.RR, name string) string {
	for range maxChain {
		i := slices.IndexFunc(answer, func(rr dns.RR) bool {
			_, ok := rr.(*dns.CNAME)
			return ok && dns.CanonicalName(rr.Header().Name) == dns.CanonicalName(name)
		})
		if i < 0 {
			return ""
		}
		if name = answer[i].(*dns.CNAME).Target; a.ours(name) {
			return name
		}
	}
	return ""
}

// boundary lists where our zones begin and end, sorted.
func (a *authority) boundary() []string {
	var names []string
	for name, zone := range a.zones {
		names = append(names, name)
		for rr := range zone.data.Records() {
			if owner := dns.CanonicalName(rr.Header().Name); rr.Header().Rrtype == dns.TypeNS && model.Name(owner) != zone.name {
				names = append(names, "-"+owner)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
