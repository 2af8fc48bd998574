package bench

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// overload sends faster than the device can take: it has to wait for the tester's CPU,
// and neither goes before the other, so that its queue is full before it runs.
func overload(t *testing.T, bed *Bed) {
	t.Helper()
	cpu := bed.Tester.bench.CPU
	if err := bed.Rig.place(cpu); err != nil {
		t.Fatal(err)
	}
	o, err := bed.Tester.send(t.Context(), trafficgen.Plan{
		Flows: bed.Tester.Flows, Frames: 200_000, Random: true, Rate: trafficgen.MaxRate, Length: bed.Tester.bench.Length, Epoch: max(bed.Tester.epoch, 1), CPU: cpu, Wait: bed.Tester.bench.straggle(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Lost() == 0 {
		t.Fatal("a device without a CPU loses nothing")
	}
}

// Whatever the null device loses met a full queue: it drops nothing by itself.
func TestDropsOfAnOverloadedDevice(t *testing.T) {
	bed := testBed(t, Paced)
	if _, err := bed.Sessions.Establish(t.Context(), trafficgen.Plan{}); err != nil {
		t.Fatal(err)
	}
	overload(t, bed)
	l := bed.Tester.losses
	t.Logf("%+v", l)
	if l.before+l.behind != l.lost {
		t.Errorf("of %d frames lost %d met a full queue before and %d behind the device", l.lost, l.before, l.behind)
	}
	bed.Tester.noteLosses(" at rules 16")
	if notes := bed.Tester.bench.Report.Notes; len(notes) != 1 || !strings.Contains(notes[0], "null lost in all trials at rules 16") {
		t.Errorf("%q", notes)
	}
}

// The box's own queue is full in front of it, also where the box is none of ours: only
// the tester's ends of the links can be read then.
func TestDropsAtABoxOfOthers(t *testing.T) {
	bed := testBed(t, Paced)
	ours := bed.Rig
	overload(t, bed)
	want, err := ours.drops()
	if err != nil {
		t.Fatal(err)
	}
	if want.before == 0 {
		t.Fatalf("of %d frames lost none met a full queue in front of the device", bed.Tester.losses.lost)
	}
	for _, c := range []struct {
		at   *netns.Namespace
		name string
	}{{ours.Inside, ours.Initiator.Name}, {ours.Outside, ours.Responder.Name}} {
		theirs := Rig{Initiator: trafficgen.Port{Name: c.name}, Responder: trafficgen.Port{Name: c.name}}
		var got drops
		if err := c.at.Do(func() (err error) { got, err = theirs.drops(); return err }); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v, the device's ends %+v", c.name, got, want)
		// Each interface is named twice here. All goes from the initiator to the responder.
		if c.name == insideInterface && got.before != 2*want.before || c.name == outsideInterface && got.behind != 2*want.behind {
			t.Errorf("%s: %+v, the device's ends count %+v", c.name, got, want)
		}
	}
}
