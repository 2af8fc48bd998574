package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// source is what a test measures.
type source func(metric.Page) error

func (s source) Measure(p metric.Page) error { return s(p) }

func newPage(log *slog.Logger, sources ...Source) *Service {
	return New(Options{
		Version: "1", Started: time.Unix(1_800_000_000, 0), Generation: func() uint32 { return 7 },
		Sources: func() []Source { return sources }, Log: log,
	})
}

var quiet = slog.New(slog.DiscardHandler)

// scrape returns the status and the lines of a page that are no comments.
func scrape(s *Service) (status int, lines []string) {
	w := httptest.NewRecorder()
	s.ServeMetrics(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return w.Code, lines
}

// putAll puts n series of each metric that has labels, and one of each that has none.
func putAll(p metric.Page, n int) {
	for _, m := range metric.All() {
		d := m.Define()
		if m == metric.MeasureFailures || m == metric.SeriesLeftOut || m <= metric.ClockSynchronised && m != metric.Adopted {
			continue // the service puts them
		}
		most := 1
		if len(d.Labels) > 0 {
			most = n
		}
		for i := range most {
			labels := make([]string, len(d.Labels))
			for l := range labels {
				labels[l] = fmt.Sprint("value", i)
			}
			if d.Kind == metric.Summary {
				p.PutSummary(m, 3, 1.5, labels...)
			} else {
				p.Put(m, 1, labels...)
			}
		}
	}
}

// However much there is to measure, a page has at most 2,000 series, and says how many more there are.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow this machine is
		const much = 300
		code, lines := scrape(newPage(quiet, source(func(p metric.Page) error { putAll(p, much); return nil })))
		if code != http.StatusOK || len(lines) > 2000 {
			t.Errorf("status %d, %d series", code, len(lines))
		}
		leftOut := 0
		for _, m := range metric.All() {
			if d := m.Define(); len(d.Labels) > 0 && m != metric.BuildInfo {
				leftOut += much*seriesOf(d) - d.Most
			}
		}
		if want := fmt.Sprintf("realmgate_series_left_out %s", strconv.FormatFloat(float64(leftOut), 'g', -1, 64)); !slices.Contains(lines, want) {
			t.Errorf("the page does not say %s", want)
		}
	})
}

// seriesOf is how many series one value takes.
func seriesOf(d metric.Definition) int {
	if d.Kind == metric.Summary {
		return 2
	}
	return 1
}

func TestPageSaysWhatIsPut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow this machine is
		s := newPage(quiet, source(func(p metric.Page) error {
			p.Put(metric.Packets, 3, "drop_banned")
			metric.PutIf(p, metric.NextHopUp, false, "198.18.0.254")
			metric.PutIf(p, metric.Adopted, true)
			p.PutSummary(metric.ChainSeconds, 2, 0.5, "web", "rate")
			return nil
		}))
		s.ReloadFailed()
		s.Claimed(30 * time.Millisecond)
		s.Answered("private", "udp", 2*time.Microsecond)
		_, lines := scrape(s)
		page := "\n" + strings.Join(lines, "\n") + "\n"
		for _, want := range []string{
			`realmgate_packets_total{reason="drop_banned"} 3`, `realmgate_nexthop_up{gateway="198.18.0.254"} 0`, "realmgate_adopted 1",
			`realmgate_chain_seconds_sum{chain="web",function="rate"} 0.5`, `realmgate_chain_seconds_count{chain="web",function="rate"} 2`,
			`realmgate_build_info{version="1"} 1`, "realmgate_generation 7", "realmgate_start_time_seconds 1.8e+09", "realmgate_reload_failures_total 1",
			`realmgate_pool_claim_seconds_bucket{le="0.025"} 0`, `realmgate_pool_claim_seconds_bucket{le="0.05"} 1`,
			`realmgate_dns_answer_seconds_bucket{side="private",transport="udp",le="5e-05"} 1`, `realmgate_dns_answer_seconds_count{side="public",transport="tcp"} 0`,
		} {
			if !strings.Contains(page, "\n"+want+"\n") {
				t.Errorf("the page lacks %s:\n%s", want, page)
			}
		}
	})
}

// What cannot be measured is missing and counted; the rest is there, and the log has it once.
func TestFailureLeavesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow this machine is
		var log strings.Builder
		broken := errors.New("the table is gone")
		s := newPage(slog.New(slog.NewTextHandler(&log, nil)), source(func(metric.Page) error { return broken }), source(func(p metric.Page) error {
			p.Put(metric.Sessions, 5)
			p.Put(metric.Packets, 1, "a", "too many labels")
			return nil
		}))
		for n := 1; n <= 2; n++ {
			code, lines := scrape(s)
			page := strings.Join(lines, "\n")
			if code != http.StatusOK || !strings.Contains(page, "realmgate_sessions 5") || !strings.Contains(page, fmt.Sprintf("realmgate_measure_failures_total %d", n)) {
				t.Errorf("scrape %d: status %d\n%s", n, code, page)
			}
		}
		if n := strings.Count(log.String(), "the table is gone"); n != 1 {
			t.Errorf("the log says it %d times:\n%s", n, log.String())
		}
	})
}

// A page that comes too late is told of in one line, however much was on it.
func TestLatePageIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := newPage(slog.New(slog.NewTextHandler(&log, nil)), source(func(p metric.Page) error {
			time.Sleep(2 * scrapeTime)
			p.Put(metric.Sessions, 5)
			return nil
		}))
		for n := 1; n <= 2; n++ {
			code, _ := scrape(s)
			time.Sleep(2 * scrapeTime)
			synctest.Wait()
			if lines := strings.Count(log.String(), "\n"); code != http.StatusServiceUnavailable || lines != n {
				t.Errorf("scrape %d: status %d, %d lines:\n%s", n, code, lines, log.String())
			}
		}
	})
}

// Who asks does not wait for longer than a second, and few may at a time.
func TestScrapeHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newPage(quiet, source(func(metric.Page) error { <-release; return nil }))
		for range 2 * mostScrapes {
			begun := time.Now()
			if code, _ := scrape(s); code != http.StatusServiceUnavailable || time.Since(begun) > scrapeTime {
				t.Errorf("status %d after %s", code, time.Since(begun))
			}
		}
		close(release)
		synctest.Wait()
		if code, _ := scrape(s); code != http.StatusOK {
			t.Errorf("status %d when nothing is in the way", code)
		}
	})
}
