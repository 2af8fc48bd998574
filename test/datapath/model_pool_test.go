package datapath

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// modelBinding is a service at an address.
type modelBinding struct {
	id           uint64
	host         netip.Addr
	ports        []model.Port
	address      netip.Addr
	open         bool
	reservations []*modelReservation // in the order of their making
}

// modelReservation is one answer.
type modelReservation struct {
	id           uint64 // the data plane's
	asker        netip.Addr
	source       netip.Prefix
	left, merged int
	shared       bool
}

// modelPoolSession is what a session from the pool has beside others.
type modelPoolSession struct {
	binding           *modelBinding
	tentative         bool
	since             time.Time // of the last SYN, or SYN and ACK
	expected, sent    uint32
	known             bool // it counts among its client's
	answered, settled bool
}

// acquaintance is a known client of a binding.
type acquaintance struct {
	client  netip.Addr
	binding uint64
}

// standing counts the sessions of a known client that stand.
type standing struct{ tcp, others int }

func (s *standing) of(p model.Protocol) *int {
	if p == model.TCP {
		return &s.tcp
	}
	return &s.others
}

func (s *modelSession) tentative() bool { return s.pool != nil && s.pool.tentative }

// stands tells whether a session from the pool counts.
func (s *modelSession) stands() bool { return !s.tentative() && !s.closing() }

// count follows whether a session stands.
func (n *nat) count(s *modelSession, before, after bool) {
	if s.pool == nil || !s.pool.known || before == after {
		return
	}
	key := acquaintance{s.remote.Addr(), s.pool.binding.id}
	*n.known[key].of(s.protocol) += map[bool]int{true: 1, false: -1}[after]
}

// meet is the way that a packet's port of the pool is bound.
func (n *nat) meet(t model.Tuple) (b *modelBinding, port uint16) {
	outside := t.Destination.Port()
	if t.Protocol == model.ICMP {
		outside = 0
	}
	for _, p := range []public{{t.Destination.Addr(), t.Protocol, outside}, {t.Destination.Addr(), 0, 0}} {
		if b := n.bound[p]; b != nil {
			for _, way := range b.ports {
				if way.Protocol == p.protocol && way.Port == p.port && way.To != 0 {
					return b, way.To
				}
			}
			return b, t.Destination.Port()
		}
	}
	return nil, 0
}

// claimable finds what the client may claim: what it asked for itself, else the first.
func (b *modelBinding) claimable(client netip.Addr) *modelReservation {
	var first *modelReservation
	for _, r := range b.reservations {
		if r.left == 0 && (!r.shared || r.merged == 0) || r.source.IsValid() && !r.source.Contains(client) {
			continue
		}
		if r.asker == client {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// claimOwn uses up what a known client has asked for itself.
func (b *modelBinding) claimOwn(client netip.Addr) {
	if r := b.claimable(client); r != nil && r.asker == client {
		r.claim(client)
	}
}

func (r *modelReservation) claim(client netip.Addr) {
	if r.left > 0 {
		r.left--
	} else {
		r.merged--
	}
	r.shared = r.shared || client != r.asker
}

// join counts one session more of a known client; how it went: "" where it is not known.
func (n *nat) join(key acquaintance, p model.Protocol) (joined bool, reason model.Reason) {
	known := n.known[key]
	switch {
	case known == nil:
		return false, ""
	case *known.of(p) >= n.most:
		return false, "drop_client_limit"
	}
	*known.of(p)++
	return true, ""
}

// acquaint makes a client known, by one session.
func (n *nat) acquaint(key acquaintance, p model.Protocol) {
	n.known[key] = &standing{}
	*n.known[key].of(p) = 1
}

// enter opens a session for the first packet of a client of the pool.
func (n *nat) enter(p *packets.Packet, t model.Tuple, hairpin bool) (*modelSession, model.Reason) {
	b, port := n.meet(t)
	if b == nil {
		return nil, "drop_no_binding"
	}
	if reason := mayOpen(p); reason != "" {
		return nil, reason
	}
	private := netip.AddrPortFrom(b.host, port)
	key := pair{t.Protocol, private, t.Source}
	before := n.claimed[pair{t.Protocol, t.Destination, t.Source}] // closing, or left over, or the packet would have been its
	switch {
	case before != nil && before.private != private:
		return nil, "drop_session_conflict" // I4
	case before != nil && !before.closing():
		return before, ""
	}
	same := n.sessions[key]
	if same != nil && !same.closing() {
		return nil, "drop_session_conflict" // I8
	}
	pool, reason := n.admit(b, t.Source.Addr(), t.Protocol)
	if reason != "" {
		return nil, reason
	}
	for _, ended := range []*modelSession{before, same} {
		if ended != nil && n.sessions[pair{ended.protocol, ended.private, ended.remote}] == ended {
			n.end(ended)
		}
	}
	s := n.open(key, t.Destination, "pool", hairpin)
	s.pool = pool
	return s, ""
}

// admit tells whether a client may come in. All but TCP claim at once.
func (n *nat) admit(b *modelBinding, client netip.Addr, protocol model.Protocol) (*modelPoolSession, model.Reason) {
	s := &modelPoolSession{binding: b, tentative: protocol == model.TCP, since: time.Now()}
	key := acquaintance{client, b.id}
	joined, reason := n.join(key, protocol)
	switch {
	case reason != "":
		return nil, reason
	case joined && s.tentative:
		n.known[key].tcp-- // counted by its proof
		return s, ""
	case joined:
		b.claimOwn(client)
		s.known, s.settled = true, true
		return s, ""
	}
	r := b.claimable(client)
	if r == nil {
		return nil, "drop_no_reservation"
	}
	if !s.tentative {
		r.claim(client)
	}
	return s, ""
}

// touch notes a packet in its session, and tells why it may not pass.
func (n *nat) touch(s *modelSession, p *packets.Packet, out bool) model.Reason {
	if s.tentative() {
		if out {
			s.says(p)
			return ""
		}
		if reason := n.prove(s, p); reason != "" || s.tentative() {
			return reason
		}
	}
	stood := s.stands()
	s.touch(p, out)
	n.count(s, stood, s.stands())
	if s.pool == nil || s.protocol == model.TCP {
		return ""
	}
	if out {
		s.pool.answered = true
	} else if s.pool.answered && !s.pool.settled {
		key := acquaintance{s.remote.Addr(), s.pool.binding.id}
		s.pool.settled = true
		if !s.pool.binding.open {
			return ""
		}
		joined, reason := n.join(key, s.protocol)
		if !joined && reason == "" {
			n.acquaint(key, s.protocol)
			joined = true
		}
		s.pool.known = joined
	}
	return ""
}

// says notes what the host of a tentative session has sent.
func (s *modelSession) says(p *packets.Packet) {
	f, t := p.TCP.Flags, s.pool
	if f&packets.RST != 0 {
		return
	}
	end := p.TCP.Sequence + uint32(len(p.Payload))
	for _, one := range []packets.Flags{packets.SYN, packets.FIN} {
		if f&one != 0 {
			end++
		}
	}
	switch {
	case f&packets.SYN != 0 && (s.state == "syn" || t.expected != p.TCP.Sequence+1):
		t.expected, t.sent = p.TCP.Sequence+1, end
	case s.state != "syn" && int32(end-t.sent) > 0:
		t.sent = end
	}
	if f&packets.SYN != 0 {
		s.state, t.since = "syn_both", time.Now()
	}
}

// prove judges a packet from outside of a tentative session.
func (n *nat) prove(s *modelSession, p *packets.Packet) model.Reason {
	f, t := p.TCP.Flags, s.pool
	switch {
	case f&packets.RST != 0:
		return ""
	case pureSYN(f):
		t.since = time.Now()
		return ""
	case f&packets.ACK == 0 || s.state == "syn" || p.TCP.Acknowledge-t.expected > t.sent-t.expected:
		return "drop_claim_unproved"
	}
	key := acquaintance{s.remote.Addr(), t.binding.id}
	if !t.binding.open {
		n.end(s)
		return "drop_claim_lost"
	}
	joined, reason := n.join(key, s.protocol)
	if reason != "" {
		n.end(s)
		return reason
	}
	if joined {
		t.binding.claimOwn(s.remote.Addr())
	} else {
		r := t.binding.claimable(s.remote.Addr())
		if r == nil {
			n.end(s)
			return "drop_claim_lost"
		}
		r.claim(s.remote.Addr())
		n.acquaint(key, s.protocol)
	}
	t.tentative, t.known = false, true
	s.guard = modelGuard{true: unit(t.sent), false: unit(p.TCP.Sequence)}
	return ""
}
