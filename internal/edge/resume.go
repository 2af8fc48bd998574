package edge

import (
	"slices"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// sayPacts tells a peer which pacts with it we have, when its link has come up; the lock is held.
func (s far) sayPacts(name model.Name) {
	var all []wire.Kept
	for at := range s.pacts.All() {
		if at.State != pact.Live || at.Peers != name.String() {
			continue
		}
		k := wire.Kept{Pair: pairOf(at), From: at.Remote, To: at.Local}
		if at.Out && !at.In {
			k.From, k.To = s.Name, at.Remote // not the host's: a rule may hide it
		}
		all = append(all, k)
	}
	for _, m := range wire.Resumes(all) {
		s.send(name, m)
	}
}

func pairOf(p pact.Pact) wire.Pair { return wire.Pair{Mine: wire.Tag(p.Own), Yours: wire.Tag(p.Peer)} }

// matching finds the live pact that a peer means; the lock is held.
func (s far) matching(p *peer, pair wire.Pair) (pact.Pact, bool) {
	at, found := s.pacts.ByTag(uint32(pair.Yours))
	return at, found && at.State == pact.Live && at.Peers == p.settings.Name.String() && at.Peer == uint32(pair.Mine)
}

// resumed compares what a peer has with what we have: pacts that one side alone has end. The lock is held.
func (s far) resumed(p *peer, m wire.Resume) {
	var gone []wire.Pair
	for _, k := range m.Pacts {
		at, found := s.matching(p, k.Pair)
		if !found && at.State == pact.Opening && at.Own == uint32(k.Yours) {
			continue // its answer is on the way to us
		}
		if !found {
			gone = append(gone, wire.Pair{Mine: k.Yours, Yours: k.Mine})
			continue
		}
		if p.has == nil {
			p.has = map[uint32]bool{}
		}
		p.has[at.Own] = true
	}
	if len(gone) > 0 {
		s.send(p.settings.Name, wire.Resumed{Gone: gone})
	}
	if m.More {
		return
	}
	life(s).endAll(func(at pact.Pact) bool { // a younger one may still be opening there
		return at.Peers == p.settings.Name.String() && at.Opened.Add(s.Wait).Before(p.since) && !p.has[at.Own]
	}, "the peer does not have it")
	p.has = nil
}

// ended ends the pacts of which a peer says that it does not have them; the lock is held.
func (s far) ended(p *peer, pairs []wire.Pair, why string) {
	var list []pact.Pact
	for _, pair := range pairs {
		if at, found := s.matching(p, pair); found {
			list = append(list, at)
		}
	}
	life(s).end(why, list...)
}

// renew prolongs what a peer asks to, as long as our rules let it; the lock is held.
func (s far) renew(p *peer, m wire.Renew) {
	var answer wire.Renewed
	for _, pair := range m.Pacts {
		at, found := s.matching(p, pair)
		if !found {
			answer.Gone = append(answer.Gone, wire.Pair{Mine: pair.Yours, Yours: pair.Mine})
			continue
		}
		life(s).prolong(at)
		answer.Pacts = append(answer.Pacts, pairOf(at))
	}
	s.send(p.settings.Name, answer)
}

// renewed takes a peer's answer; the lock is held.
func (s far) renewed(p *peer, m wire.Renewed) {
	for _, pair := range m.Pacts {
		if at, found := s.matching(p, pair); found {
			life(s).prolong(at)
		}
	}
	s.ended(p, m.Gone, "the peer does not have it")
}

// prolong gives a pact another lease, of the length that was agreed; the lock is held.
func (s life) prolong(at pact.Pact) {
	now := s.Now()
	at.Until = now.Add(s.holdOf(at.Terms))
	if err := s.Plane().ChangePact(recordOf(at)); err != nil {
		s.Log.Error("lease of a pact not prolonged", "error", err)
		return
	}
	s.pacts.Renew(now, at.Number, at.Until)
}

// askRenewal asks peers to prolong leases; the lock is held.
func (s life) askRenewal(list []pact.Pact) {
	type of struct {
		name string
		hold wire.Seconds
	}
	pairs := map[of][]wire.Pair{}
	for _, p := range list {
		key := of{p.Peers, seconds(s.holdOf(p.Terms))}
		pairs[key] = append(pairs[key], pairOf(p))
	}
	for key, all := range pairs {
		for some := range slices.Chunk(all, wire.MostPairs) {
			s.send(model.Name(key.name), wire.Renew{Pacts: some, Hold: key.hold})
		}
	}
}

// stillOut finds the rule that lets a host ask still, and ask that peer; the lock is held.
func (s near) stillOut(a ask) (rule policy.Rule, place int, passes bool) {
	rule, place, passes = policy.Judge(s.out, policy.Question{From: a.pact.Local, To: a.pact.Remote, Vouched: policy.Pinned}, false)
	local, _ := s.localOf(a.pact.Host)
	same := local == a.pact.Local && s.peers[a.edge] == a.peer && s.Proxy.Contains(a.pact.Proxy)
	return rule, place, passes && same && s.Owns(a.pact.Remote) && s.speaks(a.edge, a.pact.Remote)
}
