package allocation

import "github.com/realmgate/realmgate/internal/metrics/metric"

// Measure says how full the pool is, and what became of its offers. It takes no lock.
func (st *state) Measure(page metric.Page) error {
	p, asked := st.Statistics()
	page.Put(metric.PoolAddresses, float64(p.Free), "free")
	page.Put(metric.PoolAddresses, float64(p.Bound), "bound")
	page.Put(metric.PoolAddresses, float64(p.Resting), "resting")
	page.Put(metric.PoolServices, float64(p.Services))
	page.Put(metric.PoolServicesBound, float64(p.Bindings))
	for result, n := range map[string]uint64{
		"claimed": p.Claimed, "expired": p.Expired, "cancelled": p.Cancelled,
		"refused": p.Refused + asked.Distrusted + asked.Shared, "exhausted": asked.Exhausted, "full": p.Full,
	} {
		page.Put(metric.PoolOffers, float64(n), result)
	}
	page.Put(metric.PoolMoved, float64(p.Moved))
	page.Put(metric.TableEntries, float64(p.Active), "reservation_table")
	page.Put(metric.TableEntries, float64(p.Bindings+p.Rests), "binding_table")
	return nil
}
