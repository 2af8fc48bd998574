package scenario

import (
	"context"
	"fmt"
	"strconv"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/method"
)

var conntrackLimits = bench.Scenario{
	Name:    "conntrack-limits",
	About:   "the largest nf_conntrack_max and hashsize that the kernel takes",
	Devices: []string{"conntrack"},
	Modes:   []bench.Mode{bench.SelfClocked},
	Run: func(_ context.Context, b *bench.Bench) error {
		for _, s := range []struct{ metric, path string }{
			{"most_connections", "/proc/sys/net/netfilter/nf_conntrack_max"},
			{"most_buckets", "/sys/module/nf_conntrack/parameters/hashsize"},
		} {
			most, refused, err := largest(b.Host, s.path)
			if err != nil {
				return err
			}
			b.Report.Results = append(b.Report.Results, bench.Result{
				DUT: "conntrack", Metric: s.metric, Unit: "", Summary: method.Summarise([]float64{float64(most)}),
				Trials: []bench.Trial{{Round: 1, Value: method.Number(most)}}, Gates: map[string]bench.Gate{},
			})
			if refused != nil {
				b.Note("%s: %v", s.metric, refused)
			}
		}
		return nil
	},
}

// largest doubles a setting until the kernel refuses, at 2^31 at the latest, and
// returns the last value that it took, and why it refused the next.
func largest(h *bench.Host, path string) (most int, refused, err error) {
	for size := 1 << 16; size <= 1<<31; size <<= 1 {
		if refused = h.Set(path, strconv.Itoa(size)); refused != nil {
			break
		}
		got, err := h.Get(path)
		if err != nil {
			return most, nil, err
		}
		if got != strconv.Itoa(size) {
			return most, fmt.Errorf("asked for %d, the kernel made it %s", size, got), nil
		}
		most = size
	}
	if most == 0 {
		return 0, nil, refused
	}
	return most, refused, h.Restore()
}
