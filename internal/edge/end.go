package edge

import (
	"errors"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// endAll ends the live pacts that match; the lock is held.
func (s life) endAll(match func(pact.Pact) bool, why string) (ended []pact.Pact) {
	for p := range s.pacts.All() {
		if p.State == pact.Live && match(p) {
			ended = append(ended, p)
		}
	}
	s.end(why, ended...)
	return ended
}

// end takes pacts out of the data plane, and lets their proxy addresses rest; the lock is held. When it returns no packet
// passes by them.
func (s life) end(why string, list ...pact.Pact) {
	if len(list) == 0 {
		return
	}
	if err := s.Plane().EndPacts(tagsOf(list)...); err != nil { // they stand until tend has ended them
		s.Log.Error("pacts not out of the data plane", "reason", why, "error", err)
		for _, p := range list {
			s.unended[p.Own] = unended{p, why}
		}
		return
	}
	s.forget(why, list)
}

// unended is a pact that the data plane has not let go, and why it is to.
type unended struct {
	pact pact.Pact
	why  string
}

// endAgain ends what could not be ended before; the lock is held.
func (s life) endAgain() {
	list := s.unended
	s.unended = map[uint32]unended{}
	for _, u := range list {
		s.end(u.why, u.pact)
	}
}

func tagsOf(list []pact.Pact) (tags []uint32) {
	for _, p := range list {
		tags = append(tags, p.Own)
	}
	return tags
}

// forget lets the proxy addresses of pacts rest that are out of the data plane; the lock is held.
func (s life) forget(why string, list []pact.Pact) {
	now := s.Now()
	for _, p := range list {
		s.pacts.Used(p.Number, now) // a packet may just have passed
		ended, was := s.pacts.End(now, p.Number)
		if !was {
			continue
		}
		until := time.Now().Add(ended.Rests.Sub(now))
		s.writePact(ended, until)
		s.resting[keyOfPact(ended.Own)] = until
		show(s).ended(ended, why)
	}
}

// leave tells peers that we stop, where pacts do not outlive that.
func (s life) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Keeps() {
		return
	}
	s.stopping = true
	for name, p := range s.peers {
		if p.up {
			s.send(name, wire.Leave{Reason: "it stops"})
		}
	}
}

// Stop takes edges out of the data plane, but where that is kept.
func (s *Service) Stop() error {
	defer life{s}.flush() // with the lock given back
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil || s.Keeps() {
		return nil
	}
	s.stopping = true
	life{s}.endAll(func(pact.Pact) bool { return true }, "stop")
	plane := s.Plane()
	var errs []error
	for _, p := range s.peers {
		if p.was {
			errs = append(errs, plane.EndEdgeLink(p.number))
		}
	}
	return errors.Join(append(errs, plane.SetEdges(datapath.Edges{}))...)
}

// tell tells peers of pacts that we have ended; the lock is held.
func (s life) tell(why string, list []pact.Pact) {
	pairs := map[string][]wire.Pair{}
	for _, p := range list {
		pairs[p.Peers] = append(pairs[p.Peers], wire.Pair{Mine: wire.Tag(p.Own), Yours: wire.Tag(p.Peer)})
	}
	for name, all := range pairs {
		for some := range slices.Chunk(all, wire.MostPairs) {
			s.send(model.Name(name), wire.Close{Pacts: some, Reason: why})
		}
	}
}
