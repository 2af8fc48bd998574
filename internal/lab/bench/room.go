package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// leaveFree is what a measurement does not take of the memory that is available.
const leaveFree = 64 << 20

// wantRoom refuses what this machine has no memory for, before anything is made.
func (b *Bench) wantRoom(comparisons []Comparison) error {
	available, err := AvailableMemory()
	if err != nil {
		return err
	}
	sessions := 0
	for _, c := range comparisons {
		sessions = max(sessions, c.Flows.Count())
	}
	need := func(most int) int64 { return leaveFree + b.needs(comparisons, most) }
	if need(sessions) <= available {
		return nil
	}
	advice := "not even one would fit"
	if most := method.MostThatFit(sessions, available, need); most > 0 {
		advice = fmt.Sprintf("%d would fit (--sessions %d)", most, most)
	}
	return fmt.Errorf("%d sessions take %.1f GiB of memory, and %.1f GiB are available: %s",
		sessions, gibibytes(need(sessions)), gibibytes(available), advice)
}

// needs is what a sweep takes of memory when it takes most, with so many sessions at
// each point at most. Each device has a tester, and those that hold their memory have it
// at a time. The others have theirs in turns: they are emptied after each trial.
func (b *Bench) needs(comparisons []Comparison, most int) (bytes int64) {
	var turn int64
	for i, c := range comparisons {
		if sameSetup(comparisons[:i], c) >= 0 {
			continue
		}
		sessions := min(mostFlows(comparisons[i:], c).Flows.Count(), most)
		for _, m := range b.models(c) {
			bytes += method.GeneratorBytes(sessions)
			switch {
			case m.Bytes == nil:
			case m.Held:
				bytes += m.Bytes(sessions)
			default:
				turn = max(turn, m.Bytes(sessions))
			}
		}
	}
	return bytes + turn
}

func gibibytes(n int64) float64 { return float64(n) / (1 << 30) }

// AvailableMemory is MemAvailable of /proc/meminfo, in bytes.
func AvailableMemory() (int64, error) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read how much memory is available: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kibibytes int64
		if rest, found := strings.CutPrefix(lines.Text(), "MemAvailable:"); found {
			_, err := fmt.Sscan(rest, &kibibytes)
			return kibibytes << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo does not say how much memory is available")
}
