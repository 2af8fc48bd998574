package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

const statBefore = `cpu  200 0 100 1700 0 0 0 20 0 0
cpu0 100 0 50 850 0 0 0 10 7 0
cpu1 100 0 50 850 0 0 0 10 0 0
cpu10 0 0 0 0 0 0 0 0 0 0
intr 12345 0 9 0 0 0 0 0 0 0
`

const statAfter = `cpu  300 0 100 1790 0 0 0 30 0 0
cpu0 150 0 50 899 0 0 0 11 9 0
cpu1 150 0 50 891 0 0 0 19 0 0
cpu10 50 0 0 0 0 0 0 50 0 0
`

// What counts is the CPU that the trial ran on, and any where it may have been on any.
func TestStealOfTheTrialsCPU(t *testing.T) {
	before, after := parseSteal(strings.NewReader(statBefore)), parseSteal(strings.NewReader(statAfter))
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("before %v, after %v", before, after)
	}
	for _, c := range []struct {
		cpus []int
		want float64
	}{
		{[]int{0}, 0}, {[]int{1}, 0.09}, {[]int{0, 1}, 0.09}, {[]int{10}, 0.5},
		{[]int{trafficgen.AnyCPU}, 0.5}, {[]int{5}, 0},
	} {
		if got := mostStolenOf(c.cpus, before, after); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("CPUs %v: %g, want %g", c.cpus, got, c.want)
		}
	}
	if got := mostStolenOf([]int{0}, nil, nil); got != 0 {
		t.Errorf("where the kernel does not say: %g", got)
	}
}
