package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// nativeFactor is how much wider a native bucket is than the one before it, at most. How many there may be is not limited: that
// would take a lock, which a scrape holds meanwhile, and from a nanosecond to a minute there are 300.
const nativeFactor = 1.1

// histograms are the times that are measured when they pass, each by a few atomic additions.
type histograms struct {
	claims  prometheus.Histogram
	answers map[asked]prometheus.Observer // it does not change
	vec     *prometheus.HistogramVec
}

// asked is how a question came.
type asked struct{ side, transport string }

func newHistograms() *histograms {
	h := &histograms{
		claims: prometheus.NewHistogram(native(prometheus.HistogramOpts{
			Name: "realmgate_pool_claim_seconds", Help: "From an offer of the pool to the first packet of a client that came by it.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2},
		})),
		vec: prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
			Name: "realmgate_dns_answer_seconds", Help: "From a question to its answer.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5},
		}), []string{"side", "transport"}),
		answers: map[asked]prometheus.Observer{},
	}
	for _, side := range []string{"public", "private"} {
		for _, transport := range []string{"udp", "tcp"} {
			h.answers[asked{side, transport}] = h.vec.WithLabelValues(side, transport)
		}
	}
	return h
}

func native(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	o.NativeHistogramBucketFactor = nativeFactor
	return o
}

// Claimed hears how long it took from an offer to its first packet.
func (h *histograms) Claimed(after time.Duration) { h.claims.Observe(after.Seconds()) }

// Answered hears how long a question took.
func (h *histograms) Answered(side, transport string, took time.Duration) {
	h.answers[asked{side, transport}].Observe(took.Seconds())
}
