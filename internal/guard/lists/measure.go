package lists

import (
	"time"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// Measure says how old and how long the lists are.
func (s *Service) Measure(page metric.Page) error {
	all, err := s.Lists()
	for _, l := range all {
		page.Put(metric.ListEntries, float64(l.Entries), l.Name)
		page.Put(metric.ListFailures, float64(l.Failures), l.Name)
		if !l.Checked.IsZero() {
			page.Put(metric.ListAge, max(0, time.Since(l.Checked).Seconds()), l.Name)
		}
	}
	return err
}
