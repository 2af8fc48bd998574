package edge

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// inForce is a configuration with what is made of it.
type inForce struct {
	settings.Edges
	names     Names // of its realm
	out, in   []policy.Rule
	certified certified
}

// commit puts a configuration into force, and takes what it forbids out of the data plane. It returns what was before, and what it
// has ended there.
func (s life) commit(c inForce) (before inForce, ended []pact.Pact, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil {
		if !c.Given() {
			if err := s.clear(); err != nil {
				return before, nil, err
			}
			s.enforce(c)
			return before, nil, nil
		}
		if err := s.begin(c); err != nil {
			return before, nil, err
		}
	}
	before = s.inForce
	for p := range s.pacts.All() {
		if p.State == pact.Live && !c.allows(p, before) {
			ended = append(ended, p)
		}
	}
	plane := s.Plane()
	if err := plane.EndPacts(tagsOf(ended)...); err != nil {
		return before, nil, errors.Join(err, s.putBack(ended))
	}
	if err := plane.SetEdges(planeOf(c.Edges)); err != nil {
		return before, nil, errors.Join(err, s.putBack(ended))
	}
	s.enforce(c)
	return before, ended, nil
}

// clear takes out of the data plane what an earlier daemon with edges has left there, once. The records of its addresses stay on the disk.
func (s life) clear() error {
	if s.cleared {
		return nil
	}
	plane := s.Plane()
	was, err := plane.Edges()
	if err != nil {
		return err
	}
	var tags, links []uint32
	if was != (datapath.Edges{}) {
		err = errors.Join(
			plane.Pacts(func(p datapath.Pact) bool { tags = append(tags, p.Own); return true }),
			plane.EdgeLinks(func(l datapath.EdgeLink) bool { links = append(links, l.Number); return true }),
		)
		err = errors.Join(err, plane.EndPacts(tags...))
		for _, number := range links {
			err = errors.Join(err, plane.EndEdgeLink(number))
		}
		err = errors.Join(err, plane.SetEdges(datapath.Edges{}))
	}
	s.cleared = err == nil
	return err
}

// putBack puts pacts into the data plane again.
func (s life) putBack(list []pact.Pact) (err error) {
	for _, p := range list {
		err = errors.Join(err, s.Plane().PutPact(recordOf(p)))
	}
	return err
}

// rollback undoes commit. What was opened meanwhile stands where the rules that are in force again let it.
func (s life) rollback(before inForce, ended []pact.Pact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enforce(before)
	err := errors.Join(s.Plane().SetEdges(planeOf(before.Edges)), s.putBack(ended))
	if s.pacts != nil {
		s.tell("reload", s.endAll(func(p pact.Pact) bool { return !before.allows(p, before) }, "reload"))
	}
	return err
}

// settle lets what was ended go, and tells peers of it.
func (s life) settle(ended []pact.Pact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil {
		return
	}
	s.forget("reload", ended)
	s.tell("reload", ended)
	if s.Given() {
		s.end("reload", s.pacts.Reconfigure(s.Now(), s.options(s.inForce.Edges))...)
	}
	s.settlePeers()
}

// settlePeers ends the links of peers that are not configured any more, and has those of the others follow; the lock is held. No pact
// of the former stands: their numbers are anybody's.
func (s life) settlePeers() {
	for name, p := range s.peers {
		if now, known := s.peer(name); known {
			p.settings = now
			if p.was {
				if err := far(s).putLink(p); err != nil {
					s.Log.Error("link with an edge not changed", "edge", name, "error", err)
				}
			}
			continue
		}
		if p.was {
			if err := s.Plane().EndEdgeLink(p.number); err != nil {
				s.Log.Error("link not out of the data plane", "edge", name, "error", err)
				continue // its number is taken
			}
		}
		if p.up {
			s.Events.Emit(event.EdgeDown{Edge: name.String(), Error: event.Text(link.ErrRemoved)})
		}
		delete(s.peers, name)
		s.unwritten[prefixLink+name.String()] = nil
	}
}

// expel takes the links out of the data plane whose keys one may know who is the peer no longer.
func (s far) expel(before inForce) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Peers {
		p := s.peers[c.Name]
		if p == nil || !p.was || before.sameHolder(c) {
			continue
		}
		if err := s.Plane().EndEdgeLink(p.number); err != nil {
			s.Log.Error("link not out of the data plane", "edge", c.Name, "error", err)
		}
		p.was = false
	}
}

// allows reports whether a pact may stand under a configuration. One that is narrower by now ends: the next question opens another.
func (c *inForce) allows(p pact.Pact, before inForce) bool {
	peer, known := c.peer(model.Name(p.Peers))
	other := before.Given() && (c.Name != before.Name || c.Listen.Addr() != before.Listen.Addr()) // one of the two is another edge
	other = other || before.Given() && c.Proxy != before.Proxy || !before.sameHolder(peer)
	if !c.Given() || !known || !c.speaks(peer.Name, p.Remote) || other || !c.Proxy.Contains(p.Proxy) {
		return false
	}
	if p.Out {
		if local, _ := c.localOf(p.Host); local != p.Local { // the address is another host's
			return false
		}
		rule, _, passes := policy.Judge(c.out, policy.Question{From: p.Local, To: p.Remote, Vouched: p.Vouched}, false)
		if !passes || !p.In && !within(p, rule) {
			return false
		}
	}
	if !p.In {
		return true
	}
	rule, _, passes := policy.Judge(c.in, policy.Question{From: p.Remote, To: p.Local, Vouched: p.Vouched}, false)
	host, open, known := c.names.Reach(p.Local)
	if !passes || !known || host != p.Host || !within(p, rule) || !policy.SpeaksFor(c.Zones, p.Local) {
		return false
	}
	whole, ping, list := ways(open, p.Terms.Services)
	if p.Whole != whole || p.Ping && !ping {
		return false
	}
	for _, way := range p.Ways {
		if !whole && !contains(list, way) {
			return false
		}
	}
	return true
}

// sameHolder reports whether all keys by which a peer was known are its own still: what one that is not may have agreed to ends.
func (c *inForce) sameHolder(now settings.Peer) bool {
	was, known := c.peer(now.Name)
	return !known || !slices.ContainsFunc(was.Pins, func(pin [32]byte) bool { return !slices.Contains(now.Pins, pin) })
}

// localOf is the name that pacts of a host have: its own, or ours where it has none.
func (c *inForce) localOf(host netip.Addr) (name model.Name, named bool) {
	if name, named = c.names.Reverse(host); named {
		return name, true
	}
	return c.Name, false
}

// speaks reports whether a peer may use a name: its own, or one that is asked of it and of no other.
func (c *inForce) speaks(peer, name model.Name) bool {
	owner, found := c.PeerOf(name)
	return name == peer || found && owner.Name == peer
}

// within reports whether a pact is nowhere wider than a rule would have it now; a rule that contradicts itself allows nothing.
func within(p pact.Pact, r policy.Rule) bool {
	terms, err := r.Terms()
	if err != nil || terms.Vouched > p.Vouched {
		return false
	}
	terms.Vouched = policy.Nobody // it is, whatever was asked for then
	return p.Terms.Within(terms)
}

func contains(list []pact.Way, way pact.Way) bool {
	for _, w := range list {
		if w == way {
			return true
		}
	}
	return false
}

// peer finds a configured one.
func (c *inForce) peer(name model.Name) (settings.Peer, bool) {
	for _, p := range c.Peers {
		if p.Name == name {
			return p, true
		}
	}
	return settings.Peer{}, false
}

// options are those of the store of pacts.
func (s life) options(c settings.Edges) pact.Options {
	return pact.Options{
		Proxy: c.Proxy, Most: c.Pacts, Rest: c.Rest, Idle: c.Idle, PerHost: c.Quotas.PerHost, PerEdge: c.Quotas.PerEdge, Random: random, Secret: s.secret,
	}
}

// planeOf is what the data plane is to know.
func planeOf(c settings.Edges) datapath.Edges {
	if !c.Given() {
		return datapath.Edges{}
	}
	return datapath.Edges{Proxy: c.Proxy.Masked(), Address: c.Listen.Addr(), Port: settings.TunnelPort}
}
