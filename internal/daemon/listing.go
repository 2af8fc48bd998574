package daemon

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// listings say which room has the rows of each of api.Listings, a slice.
var listings = map[string]func(commands, api.Filter) any{
	api.Names.Name: func(g commands, f api.Filter) any {
		return api.SortNames(append(g.pool.Names(f), g.view.Load().realm.WebServices(f)...))
	},
	api.WebHosts.Name: func(g commands, f api.Filter) any { return g.webHosts.Rows(f) },
}

// commands are what the control socket asks for: of rooms, and what takes more than one.
type commands struct {
	*Daemon
	api.BanCommands
	api.CaptureCommands
	api.ChainCommands
	api.ConfigCommands
	api.EventCommands
	api.HandoverCommands
	api.JailCommands
	api.ListCommands
	api.MetricsPage
	api.StreamCommands
	api.TokenCommands
}

func (g *Daemon) commands() commands {
	return commands{
		Daemon: g, BanCommands: g.bans, CaptureCommands: g.captures, ChainCommands: g.chains, ConfigCommands: g.reload, EventCommands: &g.events,
		HandoverCommands: g.handover, JailCommands: g.jails, ListCommands: g.lists, MetricsPage: g.metrics, StreamCommands: g.stream, TokenCommands: g.access,
	}
}

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
	g.log.Info("sessions ended by command", "sessions", n, "filter", filter.Query().Encode())
	return n, err
}

func (v *view) describeSession(s datapath.Session) api.Session {
	return api.Session{
		Number: s.Number(), Protocol: s.Protocol, Private: s.Private, External: s.External, Remote: s.Remote, State: s.State,
		Origin: s.Origin, Host: v.realm.HostOf(s.Private.Addr()), Name: string(v.realm.Name(s.Name)), Hairpin: s.Hairpin,
		Age: s.Age.Seconds(), Idle: s.Idle.Seconds(),
	}
}

// Listing implements api.Gateway.
func (g commands) Listing(name string, filter api.Filter) (any, error) {
	list, ok := listings[name]
	if !ok {
		return nil, fmt.Errorf("nobody lists %q", name)
	}
	return list(g, filter), nil
}

// Ready implements api.Gateway. Who can ask asks a data plane that is attached.
func (g commands) Ready(ctx context.Context) error { return g.sockets.Answer(ctx) }

// Country implements api.Gateway.
func (g commands) Country(a netip.Addr) string { return g.view.Load().geofences.Country(a) }

// Pool implements api.Gateway.
func (g commands) Pool(filter api.Filter) ([]api.Binding, error) { return g.pool.Bindings(filter) }

// PoolMap implements api.Gateway.
func (g commands) PoolMap() (api.PoolMap, error) { return g.pool.PoolMap() }

// Hosts implements api.Gateway.
func (g commands) Hosts(filter api.Filter) ([]api.Host, error) {
	return g.view.Load().realm.Hosts(filter), nil
}
