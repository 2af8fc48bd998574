package doctor

import (
	"strings"
	"testing"
)

// What did not work on the way to a name has a remedy that exists.
func TestRoundTripRemedies(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]RoundTrip{
		"realmgate hosts": {Name: "x.foo.example.", Unknown: true},
		"realmgate pool":  {Name: "x.foo.example.", NoAddress: "it says SERVFAIL"},
		"as root":         {Name: "x.foo.example.", Untried: "operation not permitted"},
	} {
		v := roundTrip(&Facts{RoundTrip: r})
		if len(v.faults) != 1 || !strings.Contains(v.faults[0].Remedy, want) || strings.Contains(v.faults[0].Remedy, "realmgate names") {
			t.Errorf("%+v: %+v, want %s", r, v.faults, want)
		}
	}
}
