package datapath

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// mayOpen says why a packet without a session cannot open one; "" if it can.
func mayOpen(p *packets.Packet) model.Reason {
	t := p.Tuple()
	switch {
	case p.TCP != nil && !pureSYN(p.TCP.Flags):
		return "drop_not_syn"
	case p.ICMP != nil && t.Destination.Port() != 0:
		return "drop_no_session"
	}
	return ""
}

// fromInside is a packet on its way out.
func (n *nat) fromInside(p packets.Packet) fate {
	t := p.Tuple()
	key := pair{t.Protocol, t.Source, t.Destination}
	s := n.sessions[key]
	if s == nil {
		hairpin := isOurs(t.Destination.Addr())
		switch {
		case t.Destination.Addr() == privateAddress || t.Destination.Addr() == publicAddress:
			return fate{reason: "to_gateway"}
		case n.neighbours[t.Destination.Addr()] != packets.MAC{}:
			return fate{reason: "inside_to_inside"}
		case n.isGateways(t) && !n.keeps(t.Protocol, t.Destination):
			return fate{reason: "to_gateway"}
		case mayOpen(&p) != "":
			return fate{reason: mayOpen(&p)}
		case p.IPv4.TTL <= 1:
			return fate{reason: "drop_ttl_expired"}
		}
		s = n.open(key, n.acquire(point{t.Protocol, t.Source}), "inside", hairpin)
	}
	if p.IPv4.TTL <= 1 && !s.hairpin {
		return fate{reason: "drop_ttl_expired"}
	}
	n.touch(s, &p, true)
	p = p.Clone()
	setSource(&p, s.external)
	if s.hairpin {
		return n.fromOutside(p, true)
	}
	return forwarded(p, packets.RouterMAC)
}

// isGateways tells whether a packet to a shared address is for the gateway:
// nobody inside has the port.
func (n *nat) isGateways(t model.Tuple) bool {
	_, taken := n.internal[point{t.Protocol, t.Destination}]
	return n.shared && t.Destination.Addr() == outbound && !taken
}

// keeps tells whether a port of the outbound address is for services.
func (n *nat) keeps(protocol model.Protocol, at netip.AddrPort) bool {
	return at.Addr() == outbound && slices.ContainsFunc(n.kept, func(p model.Port) bool { return p.Protocol == protocol && p.Port == at.Port() })
}

// isLent tells whether a packet is for a service, or for nobody.
func (n *nat) isLent(t model.Tuple) bool {
	b, _ := n.meet(t)
	return isPool(t.Destination.Addr()) || b != nil
}

func forwarded(p packets.Packet, to packets.MAC) fate {
	p.IPv4.TTL--
	p.Ethernet.Destination = to
	return fate{"forwarded", &p}
}

func (n *nat) open(key pair, external netip.AddrPort, origin string, hairpin bool) *modelSession {
	s := &modelSession{key.protocol, key.local, external, key.remote, origin, "open", hairpin, modelGuard{}, nil}
	if key.protocol == model.TCP {
		s.state = "syn"
	}
	n.sessions[key] = s
	if origin == "pool" {
		n.claimed[pair{key.protocol, external, key.remote}] = s
	}
	return s
}

// acquire is the mapping of an internal endpoint: the inside port where it is
// free, else one of the same class that nobody has (RFC 4787 REQ-3).
func (n *nat) acquire(e point) netip.AddrPort {
	if external, ok := n.mappings[e]; ok {
		return external
	}
	external := netip.AddrPortFrom(outbound, e.at.Port())
	if _, taken := n.internal[point{e.protocol, external}]; taken || n.keeps(e.protocol, external) {
		external = n.observe(e)
		_, taken = n.internal[point{e.protocol, external}]
		if taken || n.keeps(e.protocol, external) || external.Addr() != outbound || (external.Port() < 1024) != (e.at.Port() < 1024) {
			n.fail("the mapping of %v is %v: taken, or of another address or class", e, external)
		}
	}
	n.mappings[e], n.internal[point{e.protocol, external}] = external, e.at
	return external
}

// fromOutside is a packet on its way in; hairpin: it comes from a host inside,
// already translated (RFC 4787 REQ-9).
func (n *nat) fromOutside(p packets.Packet, hairpin bool) fate {
	t := p.Tuple()
	to := t.Destination.Addr()
	if !isOurs(to) {
		if to == publicAddress || to == privateAddress {
			return toGateway(t, hairpin)
		}
		return fate{reason: "drop_not_for_us"}
	}
	var s *modelSession
	var inside pair
	claimed, lent := n.claimed[pair{t.Protocol, t.Destination, t.Source}], n.isLent(t)
	if claimed != nil && (claimed.closing() || !claimed.pool.binding.open) && pureSYN(flagsOf(&p)) {
		claimed = nil
	}
	if lent || claimed != nil {
		s = claimed
	} else if n.isGateways(t) && !hairpin {
		return toGateway(t, hairpin)
	} else {
		endpoint, ok := n.internal[point{t.Protocol, t.Destination}]
		if !ok {
			return fate{reason: "drop_no_mapping"}
		}
		inside = pair{t.Protocol, endpoint, t.Source}
		if s = n.sessions[inside]; s != nil && s.external != t.Destination {
			s = nil
		}
	}
	if s == nil {
		reason := model.Reason("drop_spoofed_source")
		switch {
		case !hairpin && isOurs(t.Source.Addr()):
		case lent:
			s, reason = n.enter(&p, t, hairpin)
		default:
			s, reason = n.letIn(&p, inside, t.Destination, hairpin)
		}
		if s == nil {
			return fate{reason: reason}
		}
	}
	switch {
	case s.hairpin && !hairpin:
		return fate{reason: "drop_spoofed_source"}
	case p.IPv4.TTL <= 1:
		return fate{reason: "drop_ttl_expired"}
	}
	if reason := n.touch(s, &p, false); reason != "" {
		return fate{reason: reason}
	}
	p = p.Clone()
	setDestination(&p, s.private)
	return forwarded(p, n.neighbours[s.private.Addr()])
}

// toGateway is what is for the gateway itself, which nobody outside has the address of.
func toGateway(t model.Tuple, hairpin bool) fate {
	if !hairpin && isOurs(t.Source.Addr()) {
		return fate{reason: "drop_spoofed_source"}
	}
	return fate{reason: "to_gateway"}
}

// letIn opens a session to a mapping from outside, if the filter does.
func (n *nat) letIn(p *packets.Packet, key pair, external netip.AddrPort, hairpin bool) (*modelSession, model.Reason) {
	if reason := mayOpen(p); reason != "" {
		if reason == "drop_no_session" && n.shared && !hairpin {
			return nil, "to_gateway" // a host inside asked nothing, so the gateway may have
		}
		return nil, reason
	}
	if n.sessions[key] != nil {
		return nil, "drop_session_conflict"
	}
	asked := func(s *modelSession) bool {
		return s.protocol == key.protocol && s.private == key.local && s.origin != "pool" && s.remote.Addr() == key.remote.Addr()
	}
	ok := n.filtering == model.EndpointIndependent ||
		n.filtering == model.AddressDependent && slices.ContainsFunc(slices.Collect(maps.Values(n.sessions)), asked)
	if !ok {
		return nil, "drop_filtered"
	}
	return n.open(key, external, "mapping", hairpin), ""
}

func (n *nat) end(s *modelSession) {
	delete(n.sessions, pair{s.protocol, s.private, s.remote})
	if s.origin == "pool" {
		delete(n.claimed, pair{s.protocol, s.external, s.remote})
		n.count(s, s.stands(), false)
		return
	}
	for _, other := range n.sessions {
		if other.origin != "pool" && other.protocol == s.protocol && other.private == s.private {
			return
		}
	}
	// TCP ports are free at once; only TCP sessions give way.
	delete(n.internal, point{s.protocol, s.external})
	delete(n.mappings, point{s.protocol, s.private})
}
