package gateway

import (
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// commands are what the control socket asks for.
type commands struct{ *Gateway }

// Sessions implements api.Gateway.
func (g commands) Sessions(filter api.Filter, after uint32, visit func(api.Session) bool) error {
	v := g.view.Load()
	return g.data.SessionsAfter(after, func(s datapath.Session) bool {
		session := v.describeSession(s)
		return !filter.MatchSession(session) || visit(session)
	})
}

// EndSessions implements api.Gateway.
func (g commands) EndSessions(filter api.Filter) (n int, err error) {
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
		Number: s.Number(), Protocol: s.Protocol, Private: s.Private, External: s.External, Remote: s.Remote, State: s.State,
		Origin: s.Origin, Host: v.realm.HostOf(s.Private.Addr()), Name: string(v.realm.Name(s.Name)), Hairpin: s.Hairpin,
		Age: s.Age.Seconds(), Idle: s.Idle.Seconds(),
	}
}

// Pool implements api.Gateway: which service has which address.
func (g commands) Pool(filter api.Filter) ([]api.Binding, error) {
	now := datapath.Now()
	list := []api.Binding{}
	for _, p := range g.pool.Places() {
		entry := api.Binding{
			Address: p.Address, Service: p.Service.Name.String(), Host: p.Service.Owner.String(), Private: p.Service.Host,
			Ports: p.Service.Ports, State: p.State.String(), Sessions: p.Sessions, Offers: p.Offers, Claims: p.Claims,
			Rests: max(0, p.Rested.Sub(now).Seconds()),
		}
		if filter.MatchBinding(entry) {
			list = append(list, entry)
		}
	}
	return list, nil
}

// Hosts implements api.Gateway.
func (g commands) Hosts(filter api.Filter) ([]api.Host, error) {
	list := []api.Host{}
	for _, h := range g.view.Load().registry.Hosts() {
		if host := describe(h); filter.MatchHost(host) {
			list = append(list, host)
		}
	}
	return list, nil
}

func describe(h *registry.Host) api.Host {
	host := api.Host{Name: h.Name.String(), Address: h.Address, Open: []model.Port{}, Services: []api.Service{}}
	if h.Own != nil {
		host.Open = h.Own.Ports
	}
	for _, s := range h.Services {
		service := api.Service{Ports: s.Ports}
		for _, name := range s.Names {
			service.Names = append(service.Names, name.String())
		}
		host.Services = append(host.Services, service)
	}
	return host
}
