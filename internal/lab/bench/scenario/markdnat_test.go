package scenario

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// Large pools differ in their size and in nothing that the sessions do.
func TestLargePoolsHaveTheSameSessions(t *testing.T) {
	t.Parallel()
	b := &bench.Bench{Options: bench.Options{Sessions: markDNAT.Sessions}}
	few, many := poolComparison(b, mostAsked), poolComparison(b, mostLent)
	if few.Setup.DNAT.From.Count != mostAsked || many.Setup.DNAT.From.Count != mostLent {
		t.Errorf("pools of %d and %d addresses", few.Setup.DNAT.From.Count, many.Setup.DNAT.From.Count)
	}
	many.Flows.Destinations.First = few.Flows.Destinations.First
	if few.Flows != many.Flows || few.Setup.Sessions != many.Setup.Sessions {
		t.Errorf("%+v\n%+v", few.Flows, many.Flows)
	}
}
