package dynamic

import (
	"sync/atomic"

	"github.com/realmgate/realmgate/internal/metrics/metric"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

// counts are hosts by their sources, and how many there may be: for who must not wait.
type counts struct {
	hosts, most [settings.Update + 1]atomic.Int64
}

// count counts anew. Entries are few.
func (s *Service) count() {
	var hosts, most [settings.Update + 1]int64
	for _, e := range s.table.entries {
		hosts[e.Source] += int64(len(e.hosts))
		most[e.Source] += int64(e.Most())
	}
	for source := range hosts {
		s.counts.hosts[source].Store(hosts[source])
		s.counts.most[source].Store(most[source])
	}
}

// Measure says how many hosts have registered themselves. It takes no lock.
func (s *Service) Measure(page metric.Page) error {
	for source := range settings.Update + 1 {
		if most := s.counts.most[source].Load(); most > 0 {
			page.Put(metric.RegisteredHosts, float64(s.counts.hosts[source].Load()), source.String())
			page.Put(metric.RegisteredHostsLimit, float64(most), source.String())
		}
	}
	return nil
}
