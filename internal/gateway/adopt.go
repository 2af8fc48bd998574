package gateway

import (
	"errors"

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
		if g.adoptOne(now, v, &r) {
			adopted++
		}
	}
	g.log.Info("took over an earlier daemon's data plane", "reservations", adopted)
	return nil
}

// adoptOne reports whether the record goes on as it is.
func (g *Gateway) adoptOne(now model.Instant, v *view, r *datapath.Reservation) bool {
	res := adoptable(v, r)
	if !r.Open && res.FreeAt <= now {
		return false
	}
	err := g.pool.Adopt(now, res)
	if err == nil {
		return true
	}
	g.log.Warn("dropping a reservation of an earlier daemon", "address", r.Address, "host", r.Host, "error", err)
	_, _ = g.data.Withdraw(r.ID)
	if errors.Is(err, pool.ErrNotInPool) {
		// A reload may list the address again while a late packet may come.
		if res.State == pool.Offered {
			res.FreeAt = res.Expires.Add(v.config.Pool.Quarantine)
		}
		if res.State = pool.Cancelled; res.FreeAt > now {
			_ = g.pool.Adopt(now, res)
		}
	}
	return false
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
