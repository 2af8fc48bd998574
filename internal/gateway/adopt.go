package gateway

import (
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// adopt takes over the offers, holds and quarantines that an earlier daemon
// left in the data plane, so that no place is lent twice. What the pool cannot
// take leaves the data plane.
func (g *Gateway) adopt(v *view) error {
	if !g.data.Adopted() {
		return nil
	}
	left, err := g.data.Reservations()
	if err != nil {
		return err
	}
	now := datapath.Now()
	adopted := 0
	for _, r := range left {
		res := adoptable(v, &r)
		if !r.Open && res.FreeAt <= now {
			continue
		}
		if err := g.pool.Adopt(now, res); err != nil {
			g.log.Warn("dropping a reservation of an earlier daemon", "address", r.Address, "host", r.Host, "error", err)
			_, _ = g.data.Withdraw(r.ID)
			continue
		}
		adopted++
	}
	g.log.Info("took over an earlier daemon's data plane", "reservations", adopted)
	return nil
}

// adoptable says what a record of the data plane is to the pool.
func adoptable(v *view, r *datapath.Reservation) pool.Reservation {
	res := pool.Reservation{
		ID: r.ID, Generation: r.Generation, Address: r.Address, Protocol: r.Protocol, Port: r.Port, Source: r.Source,
		Host: r.Host, HostPort: r.HostPort, Name: v.names[r.Name], Expires: r.Expires, Created: r.Expires,
		Again: r.Again, Claims: r.Claims, Granted: r.Claims + r.Used, State: pool.Offered,
	}
	if res.Name == "" {
		res.Name = model.Name(r.Host.String() + ".")
	}
	if r.Used > 0 && r.Claims == 0 {
		res.State, res.FreeAt = pool.Claimed, r.ClaimedAt.Add(r.Again)
	}
	if !r.Open {
		res.State = pool.Expired
		res.FreeAt = max(r.Expires, r.ClaimedAt).Add(max(v.config.Pool.Quarantine, r.Again))
	}
	return res
}
