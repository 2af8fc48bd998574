package scenario

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/test/lab"
)

// The limits that are found are those that the kernel took, and nothing is left of
// them.
func TestConntrackLimits(t *testing.T) {
	lab.New(t, "smoke") // skips the test without root
	r, err := bench.Run(t.Context(), conntrackLimits, smokeOptions(conntrackLimits, ""))
	if err != nil {
		t.Fatal(err)
	}
	const bound = 1 << 18
	found := map[string][]float64{}
	for _, result := range r.Results {
		found[result.Metric] = append(found[result.Metric], float64(result.Median))
	}
	for _, metric := range []string{"most_connections", "most_buckets"} {
		if most := found[metric]; len(most) != 1 || most[0] < bound*0.998 || most[0] > bound {
			t.Errorf("%s is %g; the kernel takes what is below %d", metric, most, bound)
		}
		if taken := found["taken_"+metric]; !slices.Equal(taken, []float64{1, 1, 1}) { // of 2^16 to 2^18
			t.Errorf("%s: powers of two taken %v", metric, taken)
		}
	}
	for _, path := range []string{mostPath, hashSizePath} {
		text, err := os.ReadFile(path)
		if now, want := strings.TrimSpace(string(text)), r.Environment.Settings[path]; err != nil || now != want {
			t.Errorf("%s is left at %s, and was %s: %v", path, now, want, err)
		}
	}
}
