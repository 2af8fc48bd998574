package edge

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// What others can cause is told once a minute for each of the same, and of at most so many.
const (
	toldEach = time.Minute
	mostTold = 256
)

// told reports whether something is not to be told again yet, and notes it; the lock is held.
func (s show) told(what string) bool {
	now := s.Now()
	for known, until := range s.recently {
		if !now.Before(until) {
			delete(s.recently, known)
		}
	}
	if _, is := s.recently[what]; is || len(s.recently) >= mostTold {
		return true
	}
	s.recently[what] = now.Add(toldEach)
	return false
}

// rejected tells of a connection that is no link's; the lock is held.
func (s show) rejected(from netip.AddrPort, edge model.Name, why error) {
	if !s.told("rejected " + from.Addr().String() + " " + edge.String()) {
		s.Events.Emit(event.EdgeRefused{From: from.String(), Edge: edge.String(), Reason: event.Text(why)})
	}
}

// refused tells of a pact that does not come about; the lock is held. Names that a peer does not speak for are more than that.
func (s show) refused(edge, from, to model.Name, reason string, ours bool) {
	if s.told(fmt.Sprint(edge, from, to, reason, ours)) {
		return
	}
	if ours && (reason == string(wire.RefusedSource) || reason == string(wire.RefusedTarget)) {
		s.Events.Emit(event.EdgeRefused{Edge: edge.String(), Reason: reason})
	}
	s.Events.Emit(event.PactRefused{Edge: edge.String(), From: from.String(), To: to.String(), Reason: reason, Ours: ours})
}

func (s show) opened(p pact.Pact) {
	s.Events.Emit(event.PactOpened{Edge: p.Peers, Host: p.Host, Local: p.Local.String(), Remote: p.Remote.String(), Proxy: p.Proxy, Tag: tagText(p)})
}

func (s show) ended(p pact.Pact, why string) {
	s.Events.Emit(event.PactEnded{Edge: p.Peers, Host: p.Host, Local: p.Local.String(), Remote: p.Remote.String(), Proxy: p.Proxy, Tag: tagText(p), Reason: why})
}

func tagText(p pact.Pact) string { return wire.Tag(p.Own).String() }
