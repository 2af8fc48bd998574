package allocation

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// recorder is a page that is looked at.
type recorder map[string]float64

func (r recorder) Put(m metric.Metric, value float64, labels ...string) {
	r[fmt.Sprint(m.Define().Name, labels)] = value
}

func (r recorder) PutSummary(m metric.Metric, count uint64, _ float64, labels ...string) {
	r.Put(m, float64(count), labels...)
}

// However many addresses there are, and names asked, the pool has as many series. Who measures it takes no lock that questions wait
// for.
func TestMeasureIsBoundedAndTakesNoLock(t *testing.T) {
	series := 0
	for _, addresses := range []int{2, 1024} {
		w := newWorld(t, addresses, webs(addresses))
		for n := range addresses {
			w.mustAsk(client, web(n+1))
		}
		page := recorder{}
		w.mutex.Lock()
		err := w.Measure(page)
		w.mutex.Unlock()
		if err != nil || len(page) == 0 || series > 0 && len(page) != series {
			t.Errorf("%d addresses: %d series, before %d, %v", addresses, len(page), series, err)
		}
		series = len(page)
		bound, free := page["realmgate_pool_addresses[bound]"], page["realmgate_pool_addresses[free]"]
		if bound != float64(addresses) || free != 0 || page["realmgate_table_entries[reservation_table]"] != float64(addresses) {
			t.Errorf("%d addresses: %v", addresses, page)
		}
	}
}

// What became of offers adds up, and the time to the first claim is told once.
func TestMeasureOffers(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	var told []time.Duration
	w.options.Claims = func(c Claim) { told = append(told, c.After) }
	w.mustAsk(client, web(1))
	for _, r := range w.plane.reservations {
		w.OnClaim(datapath.ClaimEvent{ID: r.ID, At: w.now.Add(30 * time.Millisecond), Client: client})
	}
	w.mustAsk(client, web(2))
	w.pass(time.Minute)
	w.advance()
	page := recorder{}
	if err := w.Measure(page); err != nil {
		t.Fatal(err)
	}
	if page["realmgate_pool_offers_total[claimed]"] != 1 || page["realmgate_pool_offers_total[expired]"] != 1 || page["realmgate_pool_offers_total[exhausted]"] != 0 {
		t.Errorf("%v", page)
	}
	if len(told) != 1 || told[0] != 30*time.Millisecond {
		t.Errorf("told %v", told)
	}
}
