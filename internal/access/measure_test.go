package access

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/metrics/metric"
	"github.com/realmgate/realmgate/test/certificate"
)

// page keeps what is put on it.
type page map[metric.Metric]float64

func (p page) Put(m metric.Metric, value float64, _ ...string) { p[m] = value }

func (p page) PutSummary(metric.Metric, uint64, float64, ...string) {}

// The end that is measured is that of the certificate that a connection gets; without TLS there is none.
func TestMeasureTellsWhenTheCertificateEnds(t *testing.T) {
	t.Parallel()
	s, found := New(Options{Log: slog.New(slog.DiscardHandler)}), page{}
	if err := s.Measure(found); err != nil || len(found) > 0 {
		t.Errorf("without TLS: %v, %v", found, err)
	}
	crt, key := filepath.Join(t.TempDir(), "crt"), filepath.Join(t.TempDir(), "key")
	p := certificate.SelfSigned(t, certificate.ForNames("gw.example.net"))
	p.Write(t, crt, key)
	c, err := openCertificates(crt, key, "", s.Log)
	if err != nil {
		t.Fatal(err)
	}
	s.secrets.Store(c)
	if err := s.Measure(found); err != nil || found[metric.CertificateExpiry] != float64(p.NotAfter.Unix()) {
		t.Errorf("%v, %v, want %d", found, err, p.NotAfter.Unix())
	}
}
