package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// mostStolen is which share of a CPU's time others may take in a valid trial. A
// shared machine loses some hundredths all the time, every device alike.
const mostStolen = 0.05

// steal is a CPU's time so far, in the kernel's ticks.
type steal struct{ stolen, all uint64 }

// readSteal returns the time of every CPU, and nothing where the kernel does not say.
func readSteal() map[int]steal {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return nil
	}
	defer file.Close()
	return parseSteal(file)
}

// parseSteal reads what /proc/stat has (proc_stat(5)).
func parseSteal(stat io.Reader) map[int]steal {
	const stolen, last = 7, 8 // guests' time, which follows, is in the user's
	times := map[int]steal{}
	for lines := bufio.NewScanner(stat); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		var cpu int
		if len(fields) <= last {
			continue
		}
		if n, _ := fmt.Sscanf(fields[0], "cpu%d", &cpu); n == 0 {
			continue // the sum of all CPUs, or something else
		}
		var s steal
		for i, field := range fields[1 : last+1] {
			var n uint64
			_, _ = fmt.Sscan(field, &n) // the kernel writes numbers
			if s.all += n; i == stolen {
				s.stolen = n
			}
		}
		times[cpu] = s
	}
	return times
}

// since returns which share of the time since before was stolen. A single tick may
// be what had gathered earlier.
func (s steal) since(before steal) float64 {
	if s.all <= before.all || s.stolen <= before.stolen+1 {
		return 0
	}
	return float64(s.stolen-before.stolen) / float64(s.all-before.all)
}

// mostStolenOf returns what the one of these CPUs lost that lost most. A trial that
// was left where the scheduler put it may have run on any.
func mostStolenOf(cpus []int, before, after map[int]steal) (share float64) {
	anywhere := slices.Contains(cpus, trafficgen.AnyCPU)
	for cpu, s := range after {
		if anywhere || slices.Contains(cpus, cpu) {
			share = max(share, s.since(before[cpu]))
		}
	}
	return share
}

// stealWatch tells what is stolen in each part of a trial, from begin to end, and in all.
type stealWatch struct {
	cpus      []int
	from, sum map[int]steal
	parts     []float64 // of the CPU that lost most
}

func (w *stealWatch) begin() { w.from = readSteal() }

func (w *stealWatch) end() {
	if w.sum == nil {
		w.sum = map[int]steal{}
	}
	after := readSteal()
	w.parts = append(w.parts, mostStolenOf(w.cpus, w.from, after))
	for cpu, now := range after {
		s, from := w.sum[cpu], w.from[cpu]
		w.sum[cpu] = steal{s.stolen + now.stolen - from.stolen, s.all + now.all - from.all}
	}
}

func (w *stealWatch) share() float64 { return mostStolenOf(w.cpus, nil, w.sum) }
