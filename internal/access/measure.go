package access

import "github.com/realmgate/realmgate/internal/metrics/metric"

// Measure says until when the certificate holds that a connection would get now.
func (s *Service) Measure(page metric.Page) error {
	if c := s.secrets.Load(); c != nil {
		page.Put(metric.CertificateExpiry, float64(c.now().Certificates[0].Leaf.NotAfter.Unix()))
	}
	return nil
}
