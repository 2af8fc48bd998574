package metrics

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/metrics/metric"
)

const (
	scrapeTime  = time.Second // after which a page is given up
	mostScrapes = 4           // at a time
)

// Options are what a Service needs.
type Options struct {
	Version    string
	Started    time.Time
	Generation func() uint32
	Sources    func() []Source
	Log        *slog.Logger
}

// Service is the page of metrics. Call New.
type Service struct {
	Options
	*histograms
	page     http.Handler
	reloaded atomic.Int64 // when a configuration came into force last, in Unix nanoseconds
	refused  atomic.Uint64
}

// New makes a page. The control API serves it.
func New(o Options) *Service {
	s := &Service{Options: o, histograms: newHistograms()}
	collector := newCollector(func() []Source { return append([]Source{s}, o.Sources()...) }, o.Log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collector, s.claims, s.vec, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	s.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: collector, ErrorHandling: promhttp.ContinueOnError, Timeout: scrapeTime, MaxRequestsInFlight: mostScrapes,
	})
	return s
}

// ServeMetrics implements api.MetricsPage.
func (s *Service) ServeMetrics(w http.ResponseWriter, r *http.Request) { s.page.ServeHTTP(w, r) }

// Prepare notes when a configuration that was read came into force.
func (s *Service) Prepare(read bool) (c lifecycle.Change) {
	if read {
		c.Settle = func() { s.reloaded.Store(time.Now().UnixNano()) }
	}
	return c
}

// ReloadFailed counts a reload that changed nothing.
func (s *Service) ReloadFailed() { s.refused.Add(1) }

// Measure implements Source: what nobody else knows.
func (s *Service) Measure(p metric.Page) error {
	p.Put(metric.BuildInfo, 1, s.Version)
	p.Put(metric.StartTime, float64(s.Started.UnixNano())/1e9)
	p.Put(metric.Generation, float64(s.Generation()))
	p.Put(metric.ReloadSuccess, float64(s.reloaded.Load())/1e9)
	p.Put(metric.ReloadFailures, float64(s.refused.Load()))
	measureClock(p)
	return nil
}
