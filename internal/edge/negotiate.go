package edge

import (
	"context"
	"errors"
	"fmt"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// ask is what a peer is asked.
type ask struct {
	peer *peer
	edge model.Name // of the peer
	pact pact.Pact
	from model.Name // as the peer is told
	rule policy.Rule
}

var errStopping = errors.New("it stops")

// negotiate asks a peer for a pact, and ends what waits for it.
func (s near) negotiate(o *opening, a ask) {
	s.mu.Lock()
	links, wait := s.links, s.Wait
	message := s.openOf(a)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var answer wire.Message
	err := errStopping
	if links != nil {
		answer, err = links.Ask(ctx, a.edge, message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		o.answer, o.err = s.agreed(a, answer)
	} else {
		a.peer.failures.again(s.Now(), err)
		o.err = s.unreached(a.peer, err)
	}
	if o.err != nil {
		s.pacts.Cancel(s.Now(), a.pact.Number) // of one that is live already nothing is changed
	}
	delete(s.opening, a.pact.Key)
	close(o.done)
}

// openOf is the question.
func (s near) openOf(a ask) wire.Open {
	m := wire.Open{
		ID:   random()<<32 | uint64(a.pact.Own), // an accept that comes too late says by it which pact it is of
		From: a.from, To: a.pact.Remote, Host: a.peer.hostID(a.pact.Host.As4()), Tag: wire.Tag(a.pact.Own), Round: 1,
		Require: said(a.rule.Require), Offer: said(a.rule.Offer), Hold: seconds(a.rule.Require.Hold),
	}
	return m
}

// agreed takes a peer's answer; the lock is held.
func (s near) agreed(a ask, answer wire.Message) (nameserver.AbroadAnswer, error) {
	name := a.edge
	switch m := answer.(type) {
	case wire.Refuse:
		show(s).refused(name, a.from, a.pact.Remote, string(m.Reason), false)
		return nameserver.AbroadAnswer{}, refusedBy(name, m)
	case wire.More:
		return nameserver.AbroadAnswer{}, refused(dns.ExtendedErrorCodeProhibited, "edge %s asks for more than edges.out offers", name)
	case wire.Accept:
		p, err := s.accepted(a, m)
		if err != nil {
			s.send(name, wire.Close{Pacts: []wire.Pair{{Mine: wire.Tag(a.pact.Own), Yours: m.Tag}}, Reason: "not as asked for"})
			return nameserver.AbroadAnswer{}, err
		}
		return s.answerOf(p, s.Now()), nil
	}
	return nameserver.AbroadAnswer{}, full(fmt.Errorf("edge %s answers by %q", name, answer.Type()))
}

// accepted puts a pact that a peer has taken into the data plane; the lock is held.
func (s near) accepted(a ask, m wire.Accept) (pact.Pact, error) {
	if s.stopping {
		return pact.Pact{}, full(errStopping)
	}
	rule, place, passes := s.stillOut(a) // the rules may be others by now
	if !passes {
		return pact.Pact{}, refused(dns.ExtendedErrorCodeBlocked, "edges.out does not let %s reach %s any more", a.pact.Local, a.pact.Remote)
	}
	own, err := rule.Terms()
	if err != nil {
		return pact.Pact{}, full(fmt.Errorf("edges.out[%d]: %w", place, err))
	}
	terms, known := heard(m.Terms)
	if !known || !terms.Within(own) {
		return pact.Pact{}, refused(dns.ExtendedErrorCodeProhibited, "edge %s accepts on other terms than edges.out[%d] has", a.edge, place)
	}
	if terms.Confidential == policy.Yes {
		return pact.Pact{}, refused(dns.ExtendedErrorCodeProhibited, "edge %s wants encryption, which we do not have", a.edge)
	}
	now := s.Now()
	before, found := s.pacts.ByTag(a.pact.Own)
	if !found {
		return pact.Pact{}, full(errors.New("it has ended meanwhile"))
	}
	if before.State == pact.Live && before.Peer != uint32(m.Tag) {
		life(s).end("the peer has begun anew", before)
		return pact.Pact{}, full(errors.New("the peer has lost the pact: ask again"))
	}
	agreed := pact.Agreed{
		Other: uint64(m.Host), Terms: terms, Out: true, Rule: place, Link: a.peer.number, Vouched: policy.Pinned, Until: now.Add(s.holdOf(terms)),
	}
	var p pact.Pact
	if before.State == pact.Live { // the other way stands
		p, err = s.pacts.Widen(now, a.pact.Number, agreed)
	} else {
		p, err = s.pacts.Settle(now, a.pact.Number, uint32(m.Tag), agreed)
	}
	if errors.Is(err, pact.ErrMoved) { // the name stands for another machine than it did: the next question opens anew
		life(s).end("moved", before)
	}
	if err != nil {
		return pact.Pact{}, full(err)
	}
	if err := life(s).put(before, p); err != nil {
		life(s).end("not in the data plane", p)
		s.Log.Error("pact with an edge not in the data plane", "edge", a.edge, "error", err)
		return pact.Pact{}, full(err)
	}
	return p, nil
}
