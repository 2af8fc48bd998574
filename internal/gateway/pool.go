package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/names/allocation"
)

func (g *Gateway) allocationOptions() allocation.Options {
	return allocation.Options{Plane: g.data, Store: g.store, Events: poolEvents{&g.events}, Log: g.log, Now: datapath.Now, Wall: time.Now}
}

// poolEvents tells the sinks what happens to the pool.
type poolEvents struct{ hub *events.Hub }

// PoolExhausted implements allocation.Events.
func (p poolEvents) PoolExhausted(addresses int) {
	p.hub.Emit(events.PoolExhausted{Addresses: addresses})
}

// PoolRecovered implements allocation.Events.
func (p poolEvents) PoolRecovered(refused uint64) { p.hub.Emit(events.PoolRecovered{Refused: refused}) }

// rested returns an error if an address is to be something else that was of the pool just now.
func (g *Gateway) rested(v *view) error {
	others := slices.DeleteFunc(slices.Concat(v.outbound, v.static.addresses, v.config.OneToOneAddresses(), []netip.Addr{v.config.DNS.Public.Addr(), v.config.DNS.Private.Addr()}), func(a netip.Addr) bool {
		return slices.Contains(v.config.Pool.Addresses, a)
	})
	if address, left, rests := g.pool.StillResting(others, v.outbound); rests {
		return fmt.Errorf("%s was of the pool until now, and clients may still come to what it was: it can be used in %s", address, left.Round(time.Second))
	}
	return nil
}

// runClaims hears from the data plane which offers were claimed.
func (g *Gateway) runClaims(claims *datapath.Events[datapath.ClaimEvent]) {
	follow(claims.Next, func(err error) {
		g.log.Error("an event of the data plane was lost", "error", err)
	}, g.pool.Hear)
}
