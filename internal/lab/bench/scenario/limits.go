package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

var conntrackLimits = bench.Scenario{
	Name:    "conntrack-limits",
	About:   "the largest nf_conntrack_max and hashsize that the kernel takes",
	Devices: []string{"conntrack"}, // and no set-up: no traffic is sent
	Run: func(_ context.Context, b *bench.Bench) error {
		bound := 1 << 32 // a smoke run does not take the memory
		if b.Smoke {
			bound = 1 << 18
		}
		for _, s := range []struct{ metric, path string }{{"most_connections", mostPath}, {"most_buckets", hashSizePath}} {
			most, refused, err := largest(b.Host, s.path, bound)
			if err != nil {
				return err
			}
			b.Report.Results = append(b.Report.Results, limit(s.metric, "", nil, float64(most)))
			if refused != nil {
				b.Note("%s: %s", path.Base(s.path), refusal(refused))
			}
			if err := tryValues(b, s.metric, s.path, min(bound, most*2)); err != nil {
				return err
			}
		}
		if b.Smoke { // too small to be told from other memory
			return nil
		}
		return measureBucket(b, 1<<24)
	},
}

// tryValues tells of each power of two below a bound whether the kernel takes it: 1, or 0
// (Sharma Table 12).
func tryValues(b *bench.Bench, metric, path string, bound int) error {
	for size := 1 << 16; size <= bound; size *= 2 {
		taken, _ := take(b.Host, path, size) // why not is told of the largest
		b.Report.Results = append(b.Report.Results, limit("taken_"+metric, "", map[string]float64{"value": float64(size)}, float64(min(taken, 1))))
	}
	return b.Host.Restore()
}

// measureBucket is what a bucket takes of the kernel's memory, by tables of two sizes
// (Lencse and Shima, Table IV). Both are too large to be made otherwise than by vmalloc.
func measureBucket(b *bench.Bench, large int) error {
	small := large / 16
	var bytes [2]int64
	for i, size := range []int{small, large} {
		if _, err := take(b.Host, hashSizePath, size); err != nil {
			return fmt.Errorf("set the number of buckets: %w", err)
		}
		used, err := vmallocUsed()
		if err != nil {
			return err
		}
		bytes[i] = used
	}
	each := float64(bytes[1]-bytes[0]) / float64(large-small)
	b.Report.Results = append(b.Report.Results, limit("bucket", "bytes", nil, each))
	return b.Host.Restore()
}

// limit is a result of one trial.
func limit(metric, unit string, parameters map[string]float64, value float64) bench.Result {
	return bench.Result{
		DUT: "conntrack", Metric: metric, Unit: unit, Parameters: parameters, Summary: method.Summarise([]float64{value}),
		Trials: []bench.Trial{{Round: 1, Value: method.Number(value)}}, Gates: map[string]bench.Gate{},
	}
}

// vmallocUsed is that of /proc/meminfo, in bytes.
func vmallocUsed() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read how much memory is used: %w", err)
	}
	_, rest, found := strings.Cut(string(text), "VmallocUsed:")
	var kibibytes int64
	if _, err := fmt.Sscan(rest, &kibibytes); !found || err != nil {
		return 0, errors.New("/proc/meminfo does not say how much memory vmalloc has given")
	}
	return kibibytes << 10, nil
}

// Conntrack's settings for the whole machine.
const (
	hashSizePath = "/sys/module/nf_conntrack/parameters/hashsize"
	mostPath     = "/proc/sys/net/netfilter/nf_conntrack_max"
)

// largest looks for the largest value below a bound that the kernel takes, to a
// thousandth, and returns it with why the next was refused.
func largest(h *bench.Host, path string, bound int) (most int, refused, err error) {
	least, beyond := 0, bound
	for size := 1 << 16; beyond-least > least/1000+1; {
		taken, err := take(h, path, size)
		if taken == 0 {
			refused, beyond = err, size
		} else {
			least, most = size, max(most, taken)
		}
		if size *= 2; size >= beyond || beyond < bound {
			size = least + (beyond-least)/2
		}
	}
	if most == 0 {
		return 0, nil, refused
	}
	return most, refused, h.Restore()
}

// refusal says in plain words why the kernel did not take a value.
func refusal(err error) string {
	text, _, _ := strings.Cut(err.Error(), ":") // the value
	switch {
	case errors.Is(err, unix.EINVAL):
		return text + " is more than the kernel's setting can hold"
	case errors.Is(err, unix.ENOMEM):
		return text + " needs more memory at a time than the kernel gives"
	}
	return err.Error()
}

// take returns what the kernel made of a value, or 0 with why it refused.
func take(h *bench.Host, path string, size int) (int, error) {
	if err := h.Set(path, strconv.Itoa(size)); err != nil {
		return 0, fmt.Errorf("%d: %w", size, err)
	}
	text, err := h.Get(path)
	if err != nil {
		return 0, err
	}
	taken, err := strconv.Atoi(text)
	if err == nil && taken < size {
		return 0, fmt.Errorf("%d: the kernel made it %d", size, taken)
	}
	return taken, err
}
