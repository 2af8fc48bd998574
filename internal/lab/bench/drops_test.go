package bench

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Whatever the null device loses met a full queue: it drops nothing by itself.
func TestDropsOfAnOverloadedDevice(t *testing.T) {
	bed := testBed(t, Paced)
	if _, err := bed.Establish(t.Context(), trafficgen.Plan{}); err != nil {
		t.Fatal(err)
	}
	for range 20 { // until a machine is slow enough
		if _, err := bed.Run(t.Context(), trafficgen.Plan{Frames: 200_000, Random: true, Rate: trafficgen.MaxRate}, true); err != nil {
			t.Fatal(err)
		}
		if bed.losses.lost > 0 {
			break
		}
	}
	l := bed.losses
	t.Logf("%+v", l)
	if l.lost == 0 {
		t.Skip("this machine's null device keeps up with its tester")
	}
	if l.before+l.behind != l.lost {
		t.Errorf("of %d frames lost %d met a full queue before and %d behind the device", l.lost, l.before, l.behind)
	}
	bed.noteLosses()
	if notes := bed.bench.Report.Notes; len(notes) != 1 || !strings.Contains(notes[0], "null lost") {
		t.Errorf("%q", notes)
	}
}
