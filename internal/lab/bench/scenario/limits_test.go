package scenario

import (
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// The limits that are found are those that the kernel took, and nothing is left of
// them.
func TestConntrackLimits(t *testing.T) {
	netns.NewForTest(t, "smoke") // skips the test without root
	r, err := bench.Run(t.Context(), conntrackLimits, smokeOptions(conntrackLimits, ""))
	if err != nil {
		t.Fatal(err)
	}
	const bound = 1 << 18
	for i, metric := range []string{"most_connections", "most_buckets"} {
		if len(r.Results) != 2 || r.Results[i].Metric != metric || r.Results[i].DUT != "conntrack" {
			t.Fatalf("want %s: %+v", metric, r.Results)
		}
		if most := float64(r.Results[i].Median); most < bound*0.998 || most > bound {
			t.Errorf("%s is %g; the kernel takes what is below %d", metric, most, bound)
		}
	}
	for _, path := range []string{mostPath, hashSizePath} {
		text, err := os.ReadFile(path)
		if now, want := strings.TrimSpace(string(text)), r.Environment.Settings[path]; err != nil || now != want {
			t.Errorf("%s is left at %s, and was %s: %v", path, now, want, err)
		}
	}
}
