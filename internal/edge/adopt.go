package edge

import (
	"errors"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// begin makes the store of pacts, of what an earlier daemon has left in the data plane and on the disk; the lock is held.
func (s life) begin(c inForce) error {
	records, err := readKept(s.kept)
	if err != nil {
		return fmt.Errorf("read what is kept of edges: %w", err)
	}
	if len(records.secret) == len(s.secret) {
		s.secret = [16]byte(records.secret)
	} else {
		for i := range s.secret {
			s.secret[i] = byte(random())
		}
		if err := s.kept.Change(bucket, map[string][]byte{keyOfSecret: s.secret[:]}, nil); err != nil {
			return fmt.Errorf("keep the secret of edges: %w", err)
		}
	}
	s.pacts = pact.New(s.options(c.Edges))
	if err := errors.Join(s.adoptLinks(records, c.Edges), s.adoptPacts(records, c.Edges)); err != nil {
		s.pacts, s.peers = nil, map[model.Name]*peer{} // the next configuration begins anew
		return err
	}
	return nil
}

// adoptLinks takes up the links of the data plane that a record names, and ends all others.
func (s life) adoptLinks(records keptRecords, c settings.Edges) error {
	found := map[uint32]datapath.EdgeLink{}
	if err := s.Plane().EdgeLinks(func(l datapath.EdgeLink) bool { found[l.Number] = l; return true }); err != nil {
		return err
	}
	numbers := map[uint32]bool{}
	for name, kept := range records.links {
		if kept.Number == 0 || kept.Number > uint32(c.Links) || numbers[kept.Number] {
			continue
		}
		numbers[kept.Number] = true
		p := &peer{number: kept.Number, here: kept.Here, epoch: kept.Epoch, mtu: leastMTU, secret: s.secretOf(name)}
		if l, stands := found[kept.Number]; stands && l.Here == kept.Here {
			p.was, p.mtu = true, max(leastMTU, int(l.MTU))
			p.hello = wire.Hello{VNI: l.There, Locators: []wire.Locator{{Address: l.Remote}}}
			delete(found, kept.Number)
		}
		s.peers[name] = p
	}
	for number := range found {
		if err := s.Plane().EndEdgeLink(number); err != nil {
			return err
		}
	}
	return nil
}

// adoptPacts takes up the pacts of the data plane. Those of which the disk knows no names end, and so do all where we are at another
// address or have other proxy addresses by now. The proxy addresses of all that have ended rest from now on.
func (s life) adoptPacts(records keptRecords, c settings.Edges) error {
	now := s.Now()
	was, err := s.Plane().Edges()
	if err != nil {
		return err
	}
	same := was == planeOf(c)
	var unknown []uint32
	var nameless []datapath.Pact
	err = s.Plane().Pacts(func(d datapath.Pact) bool {
		kept, known := records.pacts[d.Own]
		if !known {
			nameless, unknown = append(nameless, d), append(unknown, d.Own)
			return true
		}
		if !same || kept.Peer != d.Peer || kept.Host != d.Host || kept.Proxy != d.Proxy || !kept.Rests.IsZero() {
			kept.Rests = time.Time{} // no earlier than from now on
			records.pacts[d.Own] = kept
			unknown = append(unknown, d.Own)
			return true
		}
		p := pact.Pact{
			Key: pact.Key{Host: d.Host, Local: kept.Local, Remote: kept.Remote, Shown: kept.Shown}, Other: kept.Other, Number: d.Number, Own: d.Own, Peer: d.Peer, Proxy: d.Proxy,
			Peers: kept.Edge, Link: d.Link, State: pact.Live, Out: d.Out, In: d.In, Ping: d.Ping, Whole: d.Whole, Terms: kept.Terms, Rule: kept.Rule,
			Opened: now.Add(-time.Since(kept.Opened)), Until: d.Until, Used: now, Vouched: kept.Vouch,
		}
		for _, w := range d.Ways {
			p.Ways = append(p.Ways, pact.Way(w))
		}
		if err := s.pacts.Adopt(now, p); err != nil {
			s.Log.Warn("pact of an earlier daemon not adopted", "error", err)
			unknown = append(unknown, d.Own)
			return true
		}
		delete(records.pacts, d.Own)
		return true
	})
	if err != nil {
		return err
	}
	if err := s.Plane().EndPacts(unknown...); err != nil {
		return err
	}
	for _, d := range nameless { // opened just before a kill: an answer may have told of its address
		for own, kept := range records.pacts {
			if kept.Proxy == d.Proxy {
				delete(records.pacts, own)
				s.unwritten[keyOfPact(own)] = nil
			}
		}
		records.pacts[d.Own] = keptPact{Host: d.Host, Proxy: d.Proxy, Peer: d.Peer}
	}
	for _, own := range records.owns() {
		kept := records.pacts[own]
		if kept.Rests.IsZero() {
			kept.Rests = time.Now().Add(c.Rest)
		}
		left := min(time.Until(kept.Rests), c.Rest) // the clock may have been another
		if left <= 0 {
			s.unwritten[keyOfPact(own)] = nil
			continue
		}
		kept.Rests = time.Now().Add(left)
		p := pact.Pact{
			Key: pact.Key{Host: kept.Host, Local: kept.Local, Remote: kept.Remote, Shown: kept.Shown}, Other: kept.Other, Number: uint16(own), Own: own, Peer: kept.Peer,
			Proxy: kept.Proxy, Peers: kept.Edge, State: pact.Resting, Used: now, Rests: now.Add(left),
		}
		if err := s.pacts.Adopt(now, p); err != nil {
			s.Log.Warn("resting address of an earlier daemon not adopted", "error", err)
			continue
		}
		s.writePact(p, kept.Rests)
		s.resting[keyOfPact(own)] = kept.Rests
	}
	return nil
}
