package edge

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Heard implements link.Handler.
func (s far) Heard(name model.Name, m wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peerNamed(name)
	if p == nil {
		return
	}
	if s.stopping {
		if m, is := m.(wire.Open); is {
			s.send(name, wire.Refuse{ID: m.ID, Reason: wire.RefusedStopping})
		}
		return
	}
	switch m := m.(type) {
	case wire.Open:
		s.send(name, s.answer(p, m))
	case wire.Accept:
		s.late(p, m)
	case wire.Close:
		s.ended(p, m.Pacts, m.Reason)
	case wire.Resume:
		s.resumed(p, m)
	case wire.Resumed:
		s.ended(p, m.Gone, "the peer does not have it")
	case wire.Renew:
		s.renew(p, m)
	case wire.Renewed:
		s.renewed(p, m)
	case wire.Leave:
		life(s).endAll(func(at pact.Pact) bool { return at.Peers == name.String() }, "the peer stops")
	}
}

// late gives a pact back that was accepted when nobody waited for it any more; the lock is held.
func (s far) late(p *peer, m wire.Accept) {
	pair := wire.Pair{Mine: wire.Tag(m.ID), Yours: m.Tag} //nolint:gosec // the lower half, as the open had it
	if _, stands := s.matching(p, wire.Pair{Mine: pair.Yours, Yours: pair.Mine}); !stands && pair.Mine != 0 {
		s.send(p.settings.Name, wire.Close{Pacts: []wire.Pair{pair}, Reason: "too late"})
	}
}

// send sends a message; one that is lost is asked for again. The lock is held.
func (s *Service) send(name model.Name, m wire.Message) {
	if s.links == nil {
		return
	}
	if err := s.links.Send(name, m); err != nil {
		s.Log.Debug("message to an edge not sent", "edge", name, "type", m.Type(), "error", err)
	}
}

// admit answers what a peer asks for; the lock is held. What is accepted is in the data plane.
func (s far) admit(p *peer, m wire.Open) wire.Message {
	refuse := func(why wire.Refusal) wire.Message { return wire.Refuse{ID: m.ID, Reason: why} }
	byEdge := m.From == p.settings.Name
	switch {
	case !s.speaks(p.settings.Name, m.From):
		return refuse(wire.RefusedSource)
	case !policy.SpeaksFor(s.Zones, m.To):
		return refuse(wire.RefusedTarget)
	}
	host, open, known := s.names.Reach(m.To)
	if !known {
		return refuse(wire.RefusedName)
	}
	offer, offerKnown := heard(m.Offer)
	require, requireKnown := heard(m.Require)
	if !offerKnown || !requireKnown || len(m.Require.Unknown) > 0 {
		return refuse(wire.RefusedRequirement)
	}
	q := policy.Question{From: m.From, To: m.To, Vouched: policy.Pinned, Disclosed: offer.Name}
	if byEdge {
		q.Disclosed = policy.ByEdge
	}
	decision := policy.Admit(s.in, q, offer, require, policy.ServicesOf(open))
	switch unmet := decision.Unmet; {
	case decision.Refused != "":
		return refuse(wire.Refusal(decision.Refused))
	case decision.Terms.Confidential == policy.Yes: // nothing encrypts yet
		return refuse(wire.RefusedConfidence)
	case unmet != policy.Unmet{} && m.Round > 1:
		return refuse(wire.Refusal(unmet.Refused()))
	case unmet != policy.Unmet{}:
		more := policy.Widest
		more.Vouched, more.Name = unmet.Vouched, unmet.Name
		return wire.More{ID: m.ID, Require: said(more)}
	}
	taken, err := s.take(p, m, host, open, decision)
	switch {
	case errors.Is(err, pact.ErrEdgeQuota), errors.Is(err, pact.ErrHostQuota):
		return refuse(wire.RefusedQuota)
	case err != nil:
		s.Log.Warn("pact with an edge not opened", "edge", p.settings.Name, "from", m.From, "to", m.To, "error", err)
		return refuse(wire.RefusedExhausted)
	}
	return wire.Accept{ID: m.ID, Tag: wire.Tag(taken.Own), Host: p.hostID(host.As4()), Terms: said(decision.Terms)}
}

// take makes the pact of an open that is admitted; the lock is held.
func (s far) take(p *peer, m wire.Open, host netip.Addr, open []model.Port, d policy.Decision) (pact.Pact, error) {
	now := s.Now()
	key := pact.Key{Host: host, Local: m.To, Remote: m.From}
	if m.From == p.settings.Name {
		key.Shown = uint64(m.Host)
	}
	before, _ := s.pacts.ByKey(key)
	agreed := pact.Agreed{
		Other: uint64(m.Host), Terms: d.Terms, In: true, Rule: d.Rule, Link: p.number, Vouched: policy.Pinned, Until: now.Add(s.holdOf(d.Terms)),
	}
	agreed.Whole, agreed.Ping, agreed.Ways = ways(open, d.Terms.Services)
	taken, err := s.pacts.Accept(now, key, p.settings.Name.String(), uint32(m.Tag), agreed)
	if errors.Is(err, pact.ErrMoved) { // the name stands for another machine there now
		life(s).end("the name has moved", before)
		life(s).tell("the name has moved", []pact.Pact{before})
		before = pact.Pact{}
		taken, err = s.pacts.Accept(now, key, p.settings.Name.String(), uint32(m.Tag), agreed)
	}
	if err != nil {
		return pact.Pact{}, err
	}
	if err := life(s).put(before, taken); err != nil {
		life(s).end("not in the data plane", taken)
		return pact.Pact{}, err
	}
	return taken, nil
}

// ways are what of a host's open ports is of some services: all, pings, and ports.
func ways(open []model.Port, services policy.Services) (whole, ping bool, list []pact.Way) {
	everything := slices.Contains(open, model.Port{})
	if everything && services.All {
		return true, true, nil
	}
	if everything {
		open = services.List
	}
	for _, port := range open {
		switch {
		case !services.Has(port.Protocol, port.Port):
		case port.Protocol == model.ICMP:
			ping = true
		default:
			list = append(list, pact.Way{Protocol: port.Protocol, Port: port.Port, To: port.To})
		}
	}
	return false, ping, list
}

// holdOf is the lease of terms.
func (s *Service) holdOf(t policy.Terms) time.Duration {
	if t.Hold == 0 {
		return s.Hold
	}
	return t.Hold
}

func seconds(d time.Duration) wire.Seconds { return wire.Seconds(d / time.Second) }

// put writes a pact into the data plane as it is now; before is what it was. The lock is held.
func (s life) put(before, now pact.Pact) (err error) {
	defer func() {
		if err == nil && before.State != pact.Live {
			show(s).opened(now)
		}
	}()
	s.writePact(now, time.Time{})
	plane, record := s.Plane(), recordOf(now)
	if before.State == pact.Live && before.Own == now.Own {
		if before.Peer == now.Peer {
			return plane.ChangePact(record)
		}
		if err := plane.EndPacts(before.Own); err != nil { // the peer has lost what it had
			return err
		}
	}
	return plane.PutPact(record)
}

// recordOf is a pact as the data plane has it.
func recordOf(p pact.Pact) datapath.Pact {
	record := datapath.Pact{
		Number: p.Number, Own: p.Own, Peer: p.Peer, Host: p.Host, Proxy: p.Proxy, Until: p.Until, Used: p.Used, Link: p.Link,
		Out: p.Out, In: p.In, Ping: p.Ping, Whole: p.Whole,
		Rate: uint16(min(p.Terms.Limit.Rate, 4000)), Most: uint16(min(p.Terms.Limit.Sessions, 65535)),
	}
	for _, w := range p.Ways {
		record.Ways = append(record.Ways, datapath.Way(w))
	}
	return record
}
