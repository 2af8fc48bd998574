package scenario

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
)

// notes are those of a scenario with a device, without measuring anything.
func notes(t *testing.T, device string) string {
	t.Helper()
	if !slices.ContainsFunc(dut.All(), func(m bench.Model) bool { return m.Name == device }) {
		t.Fatalf("there is no device %s", device)
	}
	s := noted(bench.Scenario{Modes: []bench.Mode{bench.SelfClocked}, Run: func(_ context.Context, b *bench.Bench) error {
		natComparison(b)
		return nil
	}})
	b := &bench.Bench{Options: bench.Options{Sessions: 1000, Hosts: 1, Devices: []bench.Model{{Name: device}}}}
	if err := s.Run(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return strings.Join(b.Report.Notes, "\n")
}

// A reader is told how the devices differ from those that run elsewhere.
func TestReportsSayHowDevicesAreSetUp(t *testing.T) {
	t.Parallel()
	for device := range deviceNotes {
		if said := notes(t, device); !strings.Contains(said, "quarantine 0s") || strings.Contains(said, "nf_nat_bysource") {
			t.Errorf("of %s it is said: %q", device, said)
		}
	}
	for _, device := range inKernel {
		if said := notes(t, device); strings.Contains(said, "quarantine") || !strings.Contains(said, "nf_nat_bysource") {
			t.Errorf("of %s it is said: %q", device, said)
		}
	}
}
