package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/doctor/collect"
)

func TestDoctorText(t *testing.T) {
	t.Parallel()
	golden(t, "doctor", doctorText(doctor.Report{State: doctor.Bad, Checks: []doctor.Result{
		{Check: "interfaces", State: doctor.Bad, Faults: []doctor.Fault{
			{State: doctor.Bad, What: "interface eth0 is down", Remedy: "ip link set eth0 up"}, {State: doctor.Bad, What: "interface eth\x1b[2J9 is not on this machine", Remedy: "correct the name"},
		}, Explains: []doctor.Result{
			{Check: "route", State: doctor.Bad, Faults: []doctor.Fault{{State: doctor.Bad, What: "there is no default route", Remedy: "ip route add default via ROUTER"}}},
			{Check: "lists", State: doctor.Warning, Faults: []doctor.Fault{{State: doctor.Warning, What: "list drop was never fetched", Remedy: "realmgate lists refresh drop"}}},
		}},
		{Check: "clock", State: doctor.Warning, Faults: []doctor.Fault{{State: doctor.Warning, What: "nobody sets the clock"}}},
		{Check: "kernel", State: doctor.Good, Says: "Linux 6.18 has what the data plane uses"},
	}}))
}

func TestProfileText(t *testing.T) {
	t.Parallel()
	golden(t, "doctor-profile", profileText(collect.Profile{Seconds: 10, Programs: []collect.ProgramTime{
		{Program: "xdp gateway_public", Runs: 1_000_000, Nanoseconds: 400_000_000}, {Program: "sweep", Runs: 900, Nanoseconds: 45_000_000},
	}}))
}

// Its exit code says how it is, and it says no more.
func TestDoctorEnds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte("capacity: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t.Context(), "doctor", "-c", file, "-o", "json", "--socket", filepath.Join(t.TempDir(), "none.sock"))
	var report doctor.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != 2 || r.stderr != "" {
		t.Fatalf("%v, %+v", err, r)
	}
	if first := report.Checks[0]; first.Check != "configuration" || first.State != doctor.Bad || !strings.Contains(first.Faults[0].What, file+":1: ") {
		t.Errorf("%+v", first)
	}
	for state, code := range map[doctor.State]int{doctor.Warning: 1, doctor.Bad: 2} {
		var stdout, stderr strings.Builder
		a := newApp(&stdout, &stderr)
		if got := a.report(a.root(), runError{unwellError{state, code}}); got != code || stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %s", state, got, &stderr)
		}
	}
}

// Without a file it is about the one in force.
func TestDoctorOfWhatIsInForce(t *testing.T) {
	t.Parallel()
	d := populated()
	a := newApp(&strings.Builder{}, &strings.Builder{})
	a.socket = d.serve(t)
	if got := a.configInForce(context.Background()); got != d.status.Config {
		t.Errorf("it looks at %s", got)
	}
}
