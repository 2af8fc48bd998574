package scenario

import (
	"context"
	"errors"
	"fmt"
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
			b.Report.Results = append(b.Report.Results, bench.Result{
				DUT: "conntrack", Metric: s.metric, Unit: "", Summary: method.Summarise([]float64{float64(most)}),
				Trials: []bench.Trial{{Round: 1, Value: method.Number(most)}}, Gates: map[string]bench.Gate{},
			})
			if refused != nil {
				b.Note("%s: %s", path.Base(s.path), refusal(refused))
			}
		}
		return nil
	},
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
