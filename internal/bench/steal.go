package bench

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// What others may take of a CPU's time in a valid trial: a share, and a few of the
// kernel's ticks, since the time of a short trial cannot be told better.
const (
	mostStolen      = 0.10
	mostStolenTicks = 2
)

// steal is a CPU's time so far, in the kernel's ticks.
type steal struct{ stolen, all uint64 }

// readSteal returns zeros where the kernel does not say.
func readSteal(cpu int) (s steal) {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return s
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 9 || fields[0] != fmt.Sprintf("cpu%d", cpu) {
			continue
		}
		for i, field := range fields[1:9] {
			var n uint64
			_, _ = fmt.Sscan(field, &n) // the kernel writes numbers
			if s.all += n; i == 7 {
				s.stolen = n
			}
		}
	}
	return s
}

// since returns which share of the time since before was stolen, and whether a
// trial can stand it.
func (s steal) since(before steal) (share float64, tolerable bool) {
	if s.all == before.all {
		return 0, true
	}
	stolen := s.stolen - before.stolen
	share = float64(stolen) / float64(s.all-before.all)
	return share, share <= mostStolen || stolen <= mostStolenTicks
}

// watchSteal returns a function that says what was stolen of the CPU that lost
// most, from now on.
func watchSteal(cpus []int) func() (share float64, tolerable bool) {
	var before []steal
	for _, cpu := range cpus {
		before = append(before, readSteal(cpu))
	}
	return func() (share float64, tolerable bool) {
		tolerable = true
		for i, cpu := range cpus {
			s, t := readSteal(cpu).since(before[i])
			share, tolerable = max(share, s), tolerable && t
		}
		return share, tolerable
	}
}
