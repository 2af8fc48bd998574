package demo

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// cpuTime is the machine's so far, in the kernel's ticks (proc_stat(5)).
type cpuTime struct{ busy, all uint64 }

func readCPUTime() (t cpuTime, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, fmt.Errorf("read the CPUs' time: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	const idle, waiting, last = 3, 4, 7 // guests' time, which follows, is in the user's
	for i, field := range strings.Fields(first)[1:] {
		var ticks uint64
		if _, err := fmt.Sscan(field, &ticks); err != nil {
			return t, fmt.Errorf("read the CPUs' time in %q: %w", first, err)
		}
		if i > last {
			break
		}
		t.all += ticks
		if i != idle && i != waiting {
			t.busy += ticks
		}
	}
	return t, nil
}

// since is the share that was used, in per cent of all CPUs.
func (t cpuTime) since(before cpuTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return 100 * float64(t.busy-before.busy) / float64(t.all-before.all)
}

func cpus() int { return runtime.NumCPU() }

// usedMemory is the machine's memory in KB that is neither free nor a cache, as vmstat
// and free have it.
func usedMemory() (kilobytes int64, err error) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read the use of memory: %w", err)
	}
	defer file.Close()
	sign := map[string]int64{"MemTotal:": 1, "MemFree:": -1, "Buffers:": -1, "Cached:": -1, "SReclaimable:": -1}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var key string
		var value int64
		if n, _ := fmt.Sscan(lines.Text(), &key, &value); n == 2 {
			kilobytes += sign[key] * value
		}
	}
	return kilobytes, nil
}
