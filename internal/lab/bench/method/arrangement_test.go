package method

import (
	"fmt"
	"testing"
)

// Tables 18 and 19 of Sharma, to the digit.
func TestArrangementHits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		Arrangement
		hits int
	}{
		{Arrangement{[]int{1}, 65536}, 2147581952},
		{Arrangement{[]int{2}, 32768}, 1073872896},
		{Arrangement{[]int{4}, 16384}, 537067520},
		{Arrangement{[]int{8}, 8192}, 268763136},
		{Arrangement{[]int{16}, 4096}, 134807552},
		{Arrangement{[]int{32}, 2048}, 68222976},
		{Arrangement{[]int{64}, 1024}, 35717120},
		{Arrangement{[]int{128}, 512}, 21037056},
		{Arrangement{[]int{256}, 256}, 16842752},
		{Arrangement{[]int{16, 16}, 256}, 9601024},
		{Arrangement{[]int{4, 8, 8}, 256}, 9240576},
		{Arrangement{[]int{4, 4, 4, 4}, 256}, 9142272},
	} {
		t.Run(fmt.Sprint(test.Arrangement), func(t *testing.T) {
			t.Parallel()
			if got := test.Flows(); got != 65536 {
				t.Errorf("%d flows, want 65536", got)
			}
			if got := test.Hits(); got != test.hits {
				t.Errorf("%d hits, want %d", got, test.hits)
			}
			if got := walk(test.Arrangement); got != test.hits {
				t.Errorf("%d hits by counting each flow's, want %d", got, test.hits)
			}
		})
	}
	if got := (Arrangement{}).Hits(); got != 0 {
		t.Errorf("an empty arrangement has %d hits", got)
	}
}

// walk sends every flow through the tree and counts.
func walk(a Arrangement) (hits int) {
	for flow := range a.Flows() {
		hits += flow%a.Rules + 1
		chain := flow / a.Rules
		for _, selectors := range a.Selectors {
			hits += chain%selectors + 1
			chain /= selectors
		}
		if a.Nested() {
			hits++
		}
	}
	return hits
}
