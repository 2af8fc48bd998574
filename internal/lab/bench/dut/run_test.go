package dut

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// measure brings a device and the null device up, gives each its turn twice, and
// fails the test unless all gates hold.
func measure(t *testing.T, m bench.Model, setup bench.Setup, do func(ctx context.Context, bed *bench.Bed) error) {
	t.Helper()
	flows, _ := bench.FlowsFor(1000, 1)
	setup.Sessions = flows.Count()
	report, err := bench.Run(t.Context(), bench.Scenario{
		Name: "test",
		Run: func(ctx context.Context, b *bench.Bench) error {
			return b.Compare(ctx, bench.Comparison{Setup: setup, Flows: flows, Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
				if bed.DUT.Name == null.Name {
					return nil, nil
				}
				return []bench.Measure{{Metric: "done", Unit: "1", Value: 1}}, do(ctx, bed)
			}})
		},
	}, bench.Options{Devices: []bench.Model{m}, Null: null, Sessions: flows.Count(), Hosts: 1, Repeat: 1, Length: 64, Smoke: true, CPU: 0, Mode: bench.SelfClocked})
	if errors.Is(err, netns.ErrNotRoot) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Results {
		for name, gate := range result.Gates {
			if gate.Failed > 0 && name != "steal" && name != "generator" { // a busy machine fails them
				t.Errorf("%s: %s", name, gate.Detail)
			}
		}
	}
	if len(report.Results) == 0 {
		t.Error("nothing was measured")
	}
}
