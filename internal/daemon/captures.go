package daemon

import (
	"context"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/capture"
	"github.com/realmgate/realmgate/internal/ruleset"
)

func functionsOf(v *view) capture.Functions {
	return capture.Functions{Chains: v.config.Chains, Number: func(chain, function string) uint32 { return v.numbers[ruleset.Name(chain, function)] }}
}

func (g kernelServices) newCaptures() *capture.Service {
	return capture.New(func() capture.Functions { return functionsOf(g.view.Load()) }, &g.drops, g.log)
}

func (g kernelServices) openCaptures(*draft) (change, error) {
	g.captures.Open(g.data)
	g.drops.Open(g.data, func(err error) { g.log.Warn("drop event lost", "error", err) })
	return change{}, nil
}

// prepareCaptures has captures go on with the functions of another view.
func (g kernelServices) prepareCaptures(d *draft) (change, error) {
	return g.captures.Prepare(functionsOf(d.view)), nil
}

// runCaptures lets people look at packets until ctx ends.
func (g kernelServices) runCaptures(ctx context.Context) error {
	<-ctx.Done()
	g.drops.Close()
	g.captures.Close()
	return nil
}

// Drops implements api.Gateway.
func (g commands) Drops(ctx context.Context, filter api.Filter, visit func(api.Drop) bool) error {
	located := func(d api.Drop) bool { d.Country = g.Country(d.Outside()); return visit(d) }
	return g.drops.Watch(ctx, filter, func(a ...netip.Addr) string { return g.view.Load().realm.HostOf(a...) }, located)
}
