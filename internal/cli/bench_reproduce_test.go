package cli

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/reproduce"
)

// What the findings ask for is what bench run can do.
func TestReproductionsCanRun(t *testing.T) {
	for _, job := range reproduce.Jobs(reproduce.Papers()) {
		if job.Scenario == reproduce.ChainScenario {
			continue // realmgate demo chain
		}
		if _, o, err := jobOptions(job); err != nil || job.Sessions > 0 && o.Sessions != job.Sessions || o.Repeat == 0 {
			t.Errorf("%s: %+v, %v", job.Name, o, err)
		} else if job.Direction != "" && o.Direction.String() != job.Direction {
			t.Errorf("%s: the direction is %s", job.Name, o.Direction)
		}
	}
	if _, _, err := jobOptions(reproduce.Job{Name: "x", Scenario: "no-such"}); err == nil {
		t.Error("a scenario that does not exist is no error")
	}
}
