package bench

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// A schedule that was put off while the tester waited for its CPU was kept; one that
// was put off since the tester is too slow was not.
func TestOfferedRate(t *testing.T) {
	for _, c := range []struct {
		stalled, waited time.Duration
		want            float64
	}{
		{0, 0, 1000}, {50 * time.Millisecond, 50 * time.Millisecond, 1000 / 0.95},
		{50 * time.Millisecond, 0, 1000}, {10 * time.Millisecond, 50 * time.Millisecond, 1000 / 0.99},
	} {
		o := trafficgen.Outcome{Sent: 900, Missing: 100, Elapsed: time.Second, Stalled: c.stalled, Waited: c.waited}
		if got := offered(o); math.Abs(got-c.want) > 0.001 {
			t.Errorf("stalled %s, waited %s: %g/s, want %g/s", c.stalled, c.waited, got, c.want)
		}
	}
}

// A trial that is reported by its rate is the sender's fault where 4 % were not sent,
// also where it waited for its CPU meanwhile.
func TestOfferedIsSent(t *testing.T) {
	t.Parallel()
	for sent, valid := range map[uint64]bool{1000: true, 985: true, 960: false} {
		bed := newBed(&Bench{}, Model{}, nil)
		bed.Gates.begin()
		bed.Tester.Offered(trafficgen.Outcome{Sent: sent, Elapsed: time.Second, Stalled: 40 * time.Millisecond, Waited: 40 * time.Millisecond}, 1000)
		if (bed.Gates.invalid() == "") != valid {
			t.Errorf("%d of 1000 sent: %q", sent, bed.Gates.invalid())
		}
	}
}

// skipping is an outcome of which NAT skipped packets, and bedThat a bed without traffic that
// is to translate, with a device whose NAT may do so.
func skipping() trafficgen.Outcome {
	return trafficgen.Outcome{
		Sent: 960, Elapsed: time.Second, Stalled: 40 * time.Millisecond, Waited: 40 * time.Millisecond,
		Initiator: trafficgen.Counters{Received: 480, Misdirected: 96}, Responder: trafficgen.Counters{Received: 480, Untranslated: 96, Moved: 5},
	}
}

func bedThat(passesInvalid bool) *Bed {
	bed := newBed(&Bench{}, Model{Name: "translating", PassesInvalid: passesInvalid}, nil)
	bed.DUT.Setup.NAT = trafficgen.Addresses{First: PublicAddress.Addr(), Count: 1}
	bed.Gates.begin()
	return bed
}

// Of offered sessions it is no fault of the device what the tester did not send while it
// waited for its CPU, and no reply what was not translated.
func TestAnsweredWhileSent(t *testing.T) {
	t.Parallel()
	got := bedThat(true).Sessions.answered(skipping(), 96, 96)
	if math.Abs(got.Replies-100) > 0.001 || math.Abs(got.Packets-800) > 0.001 || math.Abs(got.Skipped-20) > 0.001 {
		t.Errorf("%+v", got)
	}
	got = bedThat(true).Sessions.answered(skipping(), 192, 96)
	if math.Abs(got.Replies-96) > 0.001 || math.Abs(got.Packets-768) > 0.001 {
		t.Errorf("of a device that answers half of them: %+v", got)
	}
	if got := bedThat(false).Sessions.answered(skipping(), 96, 96); got.Skipped != 0 {
		t.Errorf("of a device whose NAT skips nothing: %+v", got)
	}
}

// What NAT skips is excused of TCP sessions offered at a rate to a device of which that is
// known, and nothing else of it.
func TestOnlySkippedNATIsExcused(t *testing.T) {
	t.Parallel()
	offer := trafficgen.Plan{TCP: true, Window: 1024, Rate: 1000}
	for name, c := range map[string]struct {
		bed     *Bed
		plan    trafficgen.Plan
		besides func(o *trafficgen.Outcome)
		valid   bool
	}{
		"skipped":                    {bedThat(true), offer, func(*trafficgen.Outcome) {}, true},
		"another device":             {bedThat(false), offer, func(*trafficgen.Outcome) {}, false},
		"no TCP":                     {bedThat(true), trafficgen.Plan{Rate: 1000}, func(*trafficgen.Outcome) {}, false},
		"TCP in step":                {bedThat(true), trafficgen.Plan{TCP: true, Window: 1024}, func(*trafficgen.Outcome) {}, false},
		"a packet twice":             {bedThat(true), offer, func(o *trafficgen.Outcome) { o.Initiator.Duplicate = 1 }, false},
		"at the wrong responder":     {bedThat(true), offer, func(o *trafficgen.Outcome) { o.Responder.Misdirected = 1 }, false},
		"untranslated at the inside": {bedThat(true), offer, func(o *trafficgen.Outcome) { o.Initiator.Untranslated = 1 }, false},
		"moved by itself":            {bedThat(true), offer, func(o *trafficgen.Outcome) { o.Responder.Moved = 2*96 + 1 }, false},
	} {
		o := skipping()
		c.besides(&o)
		c.bed.Tester.arrived(o, c.plan, true)
		if (c.bed.Gates.invalid() == "") != c.valid {
			t.Errorf("%s: %q", name, c.bed.Gates.invalid())
		}
	}
	routing := bedThat(true)
	routing.DUT.Setup.NAT = trafficgen.Addresses{}
	if routing.Tester.arrived(skipping(), offer, true); routing.Gates.invalid() == "" {
		t.Error("it is excused where nothing is to be translated")
	}
}

// What the kernel keeps for ordinary programs must not make a paced trial invalid, and
// what they take of a self-clocked one does.
func TestMayWait(t *testing.T) {
	const kept = time.Second / 20
	if got := mayWait(trafficgen.Plan{Rate: 1000}, time.Second); got < kept || got > 2*kept {
		t.Errorf("%s of a second at a rate", got)
	}
	if got := mayWait(trafficgen.Plan{TCP: true, Window: 1024, Rate: 1000}, time.Second); got < kept || got > 2*kept {
		t.Errorf("%s of a second of TCP sessions at a rate", got)
	}
	if got := mayWait(trafficgen.Plan{TCP: true, Window: 1024}, time.Second); got != time.Second {
		t.Errorf("%s of a second of TCP sessions that wait for the device", got)
	}
	if got := mayWait(trafficgen.Plan{}, time.Second); got >= kept {
		t.Errorf("%s of a second without one", got)
	}
	if got := mayWait(trafficgen.Plan{}, time.Millisecond); got != mostWaited {
		t.Errorf("%s of a millisecond", got)
	}
}

// Something is always left to others, and no choice of a person is narrowed.
func TestNearlyAll(t *testing.T) {
	for _, c := range []struct{ part, period, want int }{
		{950_000, 1_000_000, 995_000}, {0, 1_000_000, 995_000}, {999_000, 1_000_000, 999_000}, {-1, 1_000_000, -1},
	} {
		if got := nearlyAll(c.part, c.period); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.part, c.period, got, c.want)
		}
	}
}

// The setting changes with the first paced bed, and is put back.
func TestPacedSetupChangesAndRestores(t *testing.T) {
	before, err := readSetting(realTimePart)
	if err != nil {
		t.Fatal(err)
	}
	bed := testBed(t, Paced)
	during, err := bed.Tester.bench.Host.Get(realTimePart)
	if err != nil {
		t.Fatal(err)
	}
	if part, err := strconv.Atoi(before); err == nil && part >= 0 && part <= 950_000 && during == before {
		t.Errorf("%s before and in the paced set-up", during)
	}
	if err := bed.Tester.bench.Host.Restore(); err != nil {
		t.Fatal(err)
	}
	if after, err := readSetting(realTimePart); err != nil || after != before {
		t.Errorf("%q before, %q after, %v", before, after, err)
	}
}

// TestMemoryKnowsNoTime: a tester that waited makes no trial invalid that measures no time.
func TestMemoryKnowsNoTime(t *testing.T) {
	t.Parallel()
	var g Gates
	g.begin()
	g.Require("contention", false, "the tester waited")
	g.Require("steal", false, "stolen")
	g.Untimed()
	if g.disturbed() || g.invalid() != "" {
		t.Errorf("it is invalid: %s", g.invalid())
	}
	g.Require("complete", false, "1 of 2 frames lost")
	g.Untimed()
	if g.invalid() == "" {
		t.Error("lost frames are forgotten")
	}
}
