package nameserver

import (
	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
)

// maxChain is how many CNAMEs one answer follows; the asker follows the rest.
const maxChain = 8

// search is the way from a question to its answer (RFC 1034 §4.3.2), along the
// CNAMEs of our zones. It is pure.
type search struct {
	*authority
	directory Directory
	qtype     uint16
	zone      *served
	name      string     // looked for now, in canonical form
	plain     model.Name // the same, if the directory could know it
	owner     string     // the same as it is written in the reply
	child     string     // the lent name, at or above this one, that secondaries delegate; ""
	hops      int        // CNAMEs followed
	lent      bool       // the last step was about a lent name: the answer is not static
	web       bool       // it was about a web name: the answer is
	d         decision
}

// decide answers a query for a name in zone from the zone's data and the directory.
func (a *authority) decide(q *query, zone *served, directory Directory) decision {
	s := search{
		authority: a, directory: directory, qtype: q.qtype, zone: zone,
		name: q.text(), plain: q.canonical, owner: q.asked(),
	}
	return s.decide()
}

// lookup is decide for a name of ours that a CNAME leads to, in the letters that
// it is written in there.
func (a *authority) lookup(name string, qtype uint16, directory Directory) decision {
	s := search{authority: a, directory: directory, qtype: qtype}
	zone, ok := a.zoneOf(dns.CanonicalName(name), qtype == dns.TypeDS)
	if !ok {
		return failure(dns.RcodeServerFailure) // it was ours a moment ago
	}
	s.at(zone, name)
	return s.decide()
}

func (s *search) decide() decision {
	s.d = decision{reply: reply{authoritative: true}}
	for more := true; more; {
		more = s.step()
	}
	s.d.static = s.web || !s.lent && s.zone.data != nil
	return s.d
}

// step answers for the name, or goes on to where its CNAME leads.
func (s *search) step() (more bool) {
	if cut, servers, ok := s.zone.data.Cut(s.name); ok && (s.qtype != dns.TypeDS || s.name != cut) {
		s.refer(servers)
		return false
	}
	s.child = s.delegated()
	f := s.find()
	s.web = f.known && f.entry.web()
	s.lent = f.known && !s.web
	switch alias := f.node.Set(dns.TypeCNAME); {
	case !f.exists:
		s.negative(dns.RcodeNameError, s.zone.absent())
	case s.qtype == dns.TypeANY:
		// The least that RFC 8482 §4.2 lets a server say.
		s.add(&dns.HINFO{Hdr: header(s.owner, dns.TypeHINFO, zoneTTL), Cpu: "RFC8482"})
	case len(alias) > 0 && !f.known && s.qtype != dns.TypeCNAME:
		return s.follow(alias[0].(*dns.CNAME))
	default:
		s.answer(f)
	}
	return false
}

// finding is what is at a name.
type finding struct {
	exists bool
	node   *zone.Node // records of the zone file, perhaps a wildcard's
	entry  Entry
	known  bool // the directory has the name, perhaps by a wildcard

	challenges []dns.RR // TXT records that an update made
}

// find looks for the name, and for a wildcard of its closest encloser where it
// does not exist (RFC 4592 §3.3.1). Names of the file and of the directory
// count alike for what exists. That a challenge is below a name does not make it
// exist as long as a wildcard fits it: the name would be lost while its
// certificate is renewed.
func (s *search) find() finding {
	data := s.zone.data
	live := s.zone.live.Load()
	f := finding{node: data.Node(s.name), challenges: live.challenges[s.name]}
	f.exists = f.node != nil || len(f.challenges) > 0 || s.name == string(s.zone.name) || s.nameserver.In(model.Name(s.name))
	if s.plain != "" {
		f.entry, f.known = s.directory.Find(s.plain)
		f.exists = f.exists || s.directory.Exists(s.plain)
		if encloser := f.entry.Encloser; f.known && encloser != "" {
			if f.known = encloser.In(s.zone.name) && !s.between(encloser); f.known {
				f.exists, f.node = true, data.Node("*."+string(encloser))
			}
		}
	}
	if f.exists {
		return f
	}
	for name := parentOf(s.name); name != "."; name = parentOf(name) {
		if s.exists(name) {
			f.node = data.Node("*." + name)
			f.exists = f.node != nil
			break
		}
	}
	f.exists = f.exists || live.inner[s.name]
	return f
}

// between reports whether something exists that the directory does not know of,
// the name itself or above it, below encloser.
func (s *search) between(encloser model.Name) bool {
	for name := s.name; name != string(encloser); name = parentOf(name) {
		if s.zone.data.Node(name) != nil || s.nameserver.In(model.Name(name)) {
			return true
		}
	}
	return false
}

// exists reports whether a name of the zone is there by itself.
func (s *search) exists(name string) bool {
	return name == string(s.zone.name) || s.zone.data.Node(name) != nil ||
		s.nameserver.In(model.Name(name)) || s.directory.Exists(model.Name(name))
}

// follow adds a CNAME and goes on to its target, if that is in a zone of ours.
// Nobody else is asked for it outside; inside, upstream is.
func (s *search) follow(alias *dns.CNAME) (more bool) {
	s.add(withOwner(alias, s.owner))
	target := dns.CanonicalName(alias.Target)
	zone, ok := s.zoneOf(target, s.qtype == dns.TypeDS)
	if s.hops++; s.hops > maxChain {
		return false
	}
	if !ok {
		if s.inside {
			s.d.action, s.d.target = forward, model.Name(alias.Target)
		}
		return false
	}
	s.at(zone, alias.Target)
	return true
}

// at goes to a name of a zone, in the letters that it is written in.
func (s *search) at(zone *served, owner string) {
	s.zone, s.name, s.owner, s.plain = zone, dns.CanonicalName(owner), owner, ""
	if plain, err := model.ParseName(s.name); err == nil && string(plain) == s.name {
		s.plain = plain
	}
}

// refer tells who is responsible for a delegated name (RFC 1034 §4.3.2 step
// 3b). Those inside want the answer itself, which upstream finds.
func (s *search) refer(servers []dns.RR) {
	if s.inside {
		s.d.action, s.d.target = forward, model.Name(s.owner)
		return
	}
	s.d.reply.authoritative = s.hops > 0
	s.d.reply.authority = servers
	for _, server := range servers {
		s.d.reply.additional = append(s.d.reply.additional, s.addresses(server.(*dns.NS).Ns)...)
	}
}

func (s *search) add(records ...dns.RR) {
	s.d.reply.answer = append(s.d.reply.answer, records...)
}

func (s *search) negative(rcode int, ttl uint32) {
	owner := string(s.zone.name)
	if s.child != "" && (s.qtype != dns.TypeDS || s.name != s.child) {
		// Who was referred here for the child takes an SOA from above it for a mistake.
		owner = s.child
	}
	s.d.reply = s.zone.negativeOf(s.d.reply, owner, rcode, ttl).reply
}

// delegated is the child zone that the name is in, or "".
func (s *search) delegated() (child string) {
	if s.inside {
		return ""
	}
	return s.zone.child(s.directory, s.name)
}

// withOwner is a record under the name that was asked for, in its letters.
func withOwner(rr dns.RR, owner string) dns.RR {
	if rr.Header().Name == owner {
		return rr
	}
	rr = dns.Copy(rr)
	rr.Header().Name = owner
	return rr
}
