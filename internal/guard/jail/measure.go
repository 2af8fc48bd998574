package jail

import "github.com/realmgate/realmgate/internal/metrics/metric"

// Measure says which jails read their logs, and what they found there.
func (s *Service) Measure(page metric.Page) error {
	all, err := s.Jails()
	for _, j := range all {
		metric.PutIf(page, metric.JailUp, j.Error == "", j.Name)
		page.Put(metric.JailLines, float64(j.Lines), j.Name)
		page.Put(metric.JailOffences, float64(j.Offences), j.Name)
	}
	return err
}
