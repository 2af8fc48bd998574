package ban

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// page remembers counts of bans by their source.
type page map[metric.Metric]map[string]float64

func (p page) Put(m metric.Metric, value float64, labels ...string) {
	if p[m] == nil {
		p[m] = map[string]float64{}
	}
	p[m][labels[0]] = value
}

func (p page) PutSummary(metric.Metric, uint64, float64, ...string) {}

// Bans are counted by why they were made, until they end; how many were made goes on.
func TestMeasureBans(t *testing.T) {
	t.Parallel()
	s := &state{}
	offender := netip.MustParsePrefix("203.0.113.7/32")
	made := []Ban{
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Reason: Manual},
		{Prefix: offender, Reason: "jail ssh: 5 failures, offence 1", Offence: 1, Until: time.Unix(9, 0)},
		{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Reason: "subnet: 5 of its addresses are banned"},
	}
	s.list.Put(made)
	s.made.count(made)
	s.list.Remove([]netip.Prefix{offender})
	var got page
	service := &Service{state: s}
	for _, busy := range []bool{false, true} { // who saves them to a disk that is slow keeps nobody waiting
		var status api.Status
		if busy {
			s.mutex.Lock()
		}
		got = page{}
		if err := s.Measure(got); err != nil {
			t.Fatal(err)
		}
		if err := service.Report(&status); err != nil || status.Bans != 2 {
			t.Errorf("busy %v: the status has %d bans, %v", busy, status.Bans, err)
		}
	}
	for source, want := range map[string][2]float64{Manual: {1, 1}, "offence": {0, 1}, "subnet": {1, 1}} {
		if now, all := got[metric.Bans][source], got[metric.BansMade][source]; now != want[0] || all != want[1] {
			t.Errorf("%s: %v now, %v made, want %v", source, now, all, want)
		}
	}
}
