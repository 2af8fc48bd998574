package edge

import (
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/model"
)

// show is what people see.
type show struct{ *Service }

// Edges are the peers that are configured, in the order of the file.
func (s *Service) Edges(f api.Filter) []api.Edge {
	s.mu.Lock()
	links := s.links
	s.mu.Unlock()
	states := map[model.Name]link.State{}
	if links != nil { // which may ask something of us
		for _, state := range links.States() {
			states[state.Name] = state
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, p := range s.live() {
		counts[p.Peers]++
	}
	list := []api.Edge{}
	for _, c := range s.Peers {
		state := states[c.Name]
		row := api.Edge{Name: c.Name.String(), Zones: texts(c.Zones), State: "down", Address: c.Address.Addr(), Pacts: counts[c.Name.String()], Error: state.Error}
		if state.Up {
			row.State, row.RTT = "up", float64(state.RTT)/float64(time.Millisecond)
			if p := s.peers[c.Name]; p != nil {
				row.MTU = far{s}.mtuOf(p)
			}
		}
		if state.Since != 0 {
			row.Since = show{s}.wall(state.Since)
		}
		if f.MatchEdge(row) {
			list = append(list, row)
		}
	}
	return list
}

// Pacts are those that stand.
func (s *Service) Pacts(f api.Filter) []api.Pact {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []api.Pact{}
	if s.pacts == nil {
		return list
	}
	if err := (life{s}).readUses(); err != nil {
		s.Log.Error("uses of pacts not read", "error", err)
	}
	for _, p := range s.live() {
		if row := (show{s}).row(p); f.MatchPact(row) {
			list = append(list, row)
		}
	}
	return list
}

// live are the pacts that stand, by their numbers; the lock is held.
func (s *Service) live() (list []pact.Pact) {
	if s.pacts == nil {
		return nil
	}
	for p := range s.pacts.All() {
		if p.State == pact.Live {
			list = append(list, p)
		}
	}
	return list
}

func (s show) row(p pact.Pact) api.Pact {
	row := api.Pact{
		Tag: tagText(p), Edge: p.Peers, Host: p.Host, Local: p.Local.String(), Remote: p.Remote.String(), Proxy: p.Proxy, Vouched: p.Vouched.String(),
		Services: []string{}, Opened: s.wall(p.Opened), Used: s.wall(p.Used), Until: s.wall(p.Until),
	}
	switch {
	case p.Out && p.In:
		row.Direction = "both"
	case p.Out:
		row.Direction = "out"
	default:
		row.Direction = "in"
	}
	if p.Whole {
		row.Services = append(row.Services, "all")
	} else if p.Ping {
		row.Services = append(row.Services, model.ICMP.String())
	}
	for _, w := range p.Ways {
		row.Services = append(row.Services, model.Port{Protocol: w.Protocol, Port: w.Port, To: w.To}.String())
	}
	return row
}

// wall is an instant by the wall clock.
func (s show) wall(at model.Instant) time.Time {
	return time.Now().Add(at.Sub(s.Now())).Round(time.Millisecond)
}

func texts(names []model.Name) []string {
	list := []string{}
	for _, n := range names {
		list = append(list, n.String())
	}
	return list
}
