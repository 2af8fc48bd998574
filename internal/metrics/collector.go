package metrics

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// Source is a part of the gateway that can be measured.
type Source interface {
	// Measure puts values on a page. With an error some of them may be missing.
	Measure(metric.Page) error
}

// collector asks all sources at each scrape.
type collector struct {
	sources      func() []Source
	log          *slog.Logger
	descriptions []*prometheus.Desc // by metric
	failures     atomic.Uint64
	failed       atomic.Bool // at the last scrape
	told         atomic.Bool // of what could not be written, since the last scrape began
}

func newCollector(sources func() []Source, log *slog.Logger) *collector {
	c := &collector{sources: sources, log: log}
	for _, m := range metric.All() {
		d := m.Define()
		c.descriptions = append(c.descriptions, prometheus.NewDesc(d.Name, d.Help, d.Labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descriptions {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.told.Store(false)
	p := &page{collector: c, to: to, series: make([]int, len(c.descriptions))}
	failed := false
	for _, s := range c.sources() {
		if err := s.Measure(p); err != nil {
			failed = true
			c.failures.Add(1)
			if !c.failed.Load() {
				c.log.Warn("gateway not measured whole", "error", err)
			}
		}
	}
	c.failed.Store(failed)
	p.Put(metric.MeasureFailures, float64(c.failures.Load()))
	p.Put(metric.SeriesLeftOut, float64(p.leftOut))
}

// Println implements promhttp.Logger: it is told what could not be written, which of a page that is given up is each of its metrics.
func (c *collector) Println(said ...any) {
	if c.told.Swap(true) {
		return
	}
	c.log.Warn("page of metrics not whole", "error", fmt.Sprint(said...))
}

// page is one scrape's.
type page struct {
	*collector
	to      chan<- prometheus.Metric
	series  []int // by metric
	leftOut int
}

// Put implements metric.Page.
func (p *page) Put(m metric.Metric, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.Define().Kind == metric.Counter {
		kind = prometheus.CounterValue
	}
	if p.hasRoom(m) {
		p.put(prometheus.NewConstMetric(p.descriptions[m], kind, value, labels...))
	}
}

// PutSummary implements metric.Page.
func (p *page) PutSummary(m metric.Metric, count uint64, sum float64, labels ...string) {
	if p.hasRoom(m) {
		p.put(prometheus.NewConstSummary(p.descriptions[m], count, sum, nil, labels...))
	}
}

// hasRoom counts a series, or that it is left out. A summary is two of them.
func (p *page) hasRoom(m metric.Metric) bool {
	d, n := m.Define(), 1
	if d.Kind == metric.Summary {
		n = 2
	}
	if p.series[m]+n > d.Most {
		p.leftOut += n
		return false
	}
	p.series[m] += n
	return true
}

// put hands a metric over, or what is wrong with its labels.
func (p *page) put(made prometheus.Metric, err error) {
	if err != nil {
		made = prometheus.NewInvalidMetric(p.descriptions[metric.MeasureFailures], err)
	}
	p.to <- made
}
