package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/internal/registry"
)

// Sessions implements api.Gateway.
func (g *Gateway) Sessions(filter api.Filter, visit func(api.Session) bool) error {
	v := g.view.Load()
	more := true
	return g.data.Sessions(func(s datapath.Session) {
		if !more {
			return
		}
		if session := v.describeSession(s); filter.MatchSession(session) {
			more = visit(session)
		}
	})
}

// EndSessions implements api.Gateway.
func (g *Gateway) EndSessions(filter api.Filter) (n int, err error) {
	if filter == (api.Filter{}) {
		n, err = g.data.EndAll()
	} else {
		v := g.view.Load()
		n, err = g.data.EndSessions(func(s datapath.Session) bool { return filter.MatchSession(v.describeSession(s)) })
	}
	g.log.Info("an operator ended sessions", "sessions", n, "filter", filter.Query().Encode())
	return n, err
}

func (v *view) describeSession(s datapath.Session) api.Session {
	return api.Session{
		Protocol: s.Protocol, Private: s.Private, External: s.External, Remote: s.Remote, State: s.State,
		Origin: s.Origin, Host: v.hostOf(s.Private.Addr()), Name: string(v.names[s.Name]), Hairpin: s.Hairpin,
		Age: s.Age.Seconds(), Idle: s.Idle.Seconds(),
	}
}

// Reservations implements api.Gateway: offers, holds and quarantines.
func (g *Gateway) Reservations(filter api.Filter) ([]api.Reservation, error) {
	v := g.view.Load()
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := datapath.Now()
	list := []api.Reservation{}
	for r := range g.pool.All() {
		entry := api.Reservation{
			Address: r.Address, Protocol: r.Protocol, Port: r.Port, State: r.State.String(), Name: r.Name.String(),
			Host: v.hostOf(r.Host), Private: netip.AddrPortFrom(r.Host, r.HostPort), Claims: r.Claims,
		}
		until := r.FreeAt
		if r.State == pool.Offered {
			until = r.Expires
		}
		entry.Remaining = max(0, until.Sub(now).Seconds())
		if r.Requester.IsValid() {
			entry.Requester = r.Requester.String()
		}
		if filter.MatchReservation(entry) {
			list = append(list, entry)
		}
	}
	return list, nil
}

// Hosts implements api.Gateway.
func (g *Gateway) Hosts(filter api.Filter) ([]api.Host, error) {
	list := []api.Host{}
	for _, h := range g.view.Load().registry.Hosts() {
		if host := describe(h); filter.MatchHost(host) {
			list = append(list, host)
		}
	}
	return list, nil
}

func describe(h *registry.Host) api.Host {
	host := api.Host{Name: h.Name.String(), Address: h.Address, Services: []api.Service{}}
	for _, s := range h.Services {
		host.Services = append(host.Services, api.Service{Name: s.Name.String(), Protocol: s.Protocol, Port: s.Port, To: s.To})
	}
	return host
}
