package daemon

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
)

// listings say which room has the rows of each of api.Listings, a slice.
var listings = map[string]func(commands, api.Filter) any{
	api.Names.Name: func(g commands, f api.Filter) any {
		return api.SortNames(append(g.pool.Names(f), g.view.Load().realm.WebServices(f)...))
	},
	api.Edges.Name:    func(g commands, f api.Filter) any { return g.edges.Edges(f) },
	api.Pacts.Name:    func(g commands, f api.Filter) any { return g.edges.Pacts(f) },
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
	api.FlowCommands
	api.JailCommands
	api.ListCommands
	api.LogCommands
	api.MetricsPage
	api.SessionCommands
	api.StreamCommands
	api.TokenCommands
}

func (g *Daemon) commands() commands {
	return commands{
		Daemon: g, BanCommands: g.bans, CaptureCommands: g.captures, ChainCommands: g.chains, ConfigCommands: g.reload, EventCommands: &g.events, FlowCommands: g.flows,
		HandoverCommands: g.handover, JailCommands: g.jails, ListCommands: g.lists, LogCommands: g.natlog, MetricsPage: g.metrics, SessionCommands: g.flows, StreamCommands: g.stream, TokenCommands: g.access,
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
	return g.view.Load().realm.Hosts(filter, g.dynamic.About), nil
}
