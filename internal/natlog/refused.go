package natlog

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	refusedEvery = time.Minute // that a host is told of again, for one reason
	mostRefused  = 4096        // hosts and reasons that are remembered in that time
)

// limits are the reasons that something could not be opened as there was no room, or no more of it for somebody.
var limits = map[model.Reason]bool{
	model.ReasonDropNoPort: true, model.ReasonDropHostPorts: true, model.ReasonDropHostSessions: true, model.ReasonDropSessionTableFull: true,
	model.ReasonDropSessionIndexFull: true, model.ReasonDropMappingIndexFull: true, model.ReasonDropMappingSessions: true,
}

// refusal is whom something was refused, and why.
type refusal struct {
	host   netip.Addr
	reason model.Reason
}

// refusals counts the samples of a minute. Beyond its bound it counts all hosts as one.
type refusals struct {
	seen  map[refusal]uint64
	since time.Time
}

func (r *refusals) add(w refusal) {
	if r.seen == nil {
		r.seen = map[refusal]uint64{}
	}
	if _, known := r.seen[w]; !known && len(r.seen) >= mostRefused {
		w.host = netip.Addr{}
	}
	r.seen[w]++
}

// take returns what was counted when a minute is over.
func (r *refusals) take(now time.Time) map[refusal]uint64 {
	if age := now.Sub(r.since); age >= 0 && age < refusedEvery {
		return nil
	}
	seen := r.seen
	r.seen, r.since = nil, now
	return seen
}

// refused counts a dropped packet of a host inside that would have opened something.
func (s *Service) refused(e datapath.DropEvent) {
	if e.Side != "private" || !limits[e.Reason] {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rate.add(refusal{e.Tuple.Source.Addr(), e.Reason})
}

// sayRefused says each minute who was refused what, and how many packets of a sample.
func (s *Service) sayRefused(now time.Time) {
	s.mutex.Lock()
	all := s.rate.take(now)
	s.mutex.Unlock()
	for w, count := range all {
		r := Record{Kind: Refused, Reason: string(w.reason), Count: count}
		if w.host.IsValid() {
			r.Private, r.Host = netip.AddrPortFrom(w.host, 0), s.Names().HostOf(w.host)
		}
		s.Tell(r)
	}
}
