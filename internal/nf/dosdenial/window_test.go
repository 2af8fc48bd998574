package dosdenial

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// packetOf is a packet of one flow.
func packetOf(length uint16) nf.Packet {
	p := nftest.Packet("in udp 203.0.113.7:40000 > 10.0.0.1:53")
	p.Length = length
	return p
}

// window is figure 6.7 of Hanna's thesis, for one flow.
type window struct {
	start         time.Duration
	count, most   uint64
	verdict, next nf.Verdict
}

func (w *window) packet(now time.Duration, units uint64) nf.Verdict {
	w.count += units
	if now-w.start < windowLength {
		w.next = nf.Continue
		if w.count > w.most {
			w.next = nf.Drop
		}
		return w.verdict
	}
	w.start, w.verdict, w.count = now, w.next, 0
	return w.verdict
}

const windowLength = 10 * time.Hour // so that what a test takes is nothing

// The window mode does what the thesis's program does, packet by packet, in packets and
// in bytes.
func TestWindowIsTheThesis(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for _, unit := range []meter.Unit{meter.Packets, meter.Bytes} {
		const most = 1000
		program, table := b.Metered(DoSDenial{Meter: meter.Meter{Per: meter.PerFlow, Unit: unit, Rate: most / windowLength.Seconds(), Window: windowLength, Entries: 4}})
		rapid.Check(t, func(rt *rapid.T) {
			if err := table.Put(uint32(0), &meter.CMeterBucket{}); err != nil {
				t.Fatal(err)
			}
			now := 1000 * time.Hour
			model := window{most: most, verdict: nf.Continue, next: nf.Continue}
			for range rapid.IntRange(1, 40).Draw(rt, "bursts") {
				step := time.Duration(rapid.IntRange(0, 13).Draw(rt, "hours"))*time.Hour + time.Minute
				now += step
				b.Pass(table, step)
				length := uint16(rapid.SampledFrom([]int{40, 300, 1500}).Draw(rt, "length"))
				for i := range rapid.SampledFrom([]int{1, 2, 30, 600}).Draw(rt, "packets") {
					units := uint64(1)
					if unit == meter.Bytes {
						units = uint64(length)
					}
					want := model.packet(now, units)
					if want == nf.Continue {
						want = nf.Accept
					}
					if got := b.Ask(program, packetOf(length)).Verdict; got != want {
						rt.Fatalf("at %v packet %d: %v, want %v", now, i, got, want)
					}
				}
			}
		})
	}
}

// Answers do not count for dos-denial, and a dry packet changes nothing.
func TestAnswersAndDryPackets(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program, _ := b.Metered(DoSDenial{Meter: meter.Meter{Per: meter.PerFlow, Unit: meter.Packets, Rate: 1.0 / 3600, Burst: 90 * time.Minute, Entries: 64}})
	answer, dry := packetOf(100), packetOf(100)
	answer.Answers, dry.Dry = 1, 1
	for _, c := range []struct {
		packet nf.Packet
		want   nf.Verdict
	}{{answer, nf.Accept}, {dry, nf.Accept}, {answer, nf.Accept}, {packetOf(100), nf.Accept}, {answer, nf.Accept}, {dry, nf.Drop}, {packetOf(100), nf.Drop}} {
		if got := b.Ask(program, c.packet).Verdict; got != c.want {
			t.Errorf("%+v: %v, want %v", c.packet, got, c.want)
		}
	}
}

// A packet whose clock was read just before another CPU began a window does not end it.
func TestWindowBegunElsewhere(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program, table := b.Metered(DoSDenial{Meter: meter.Meter{Per: meter.PerFlow, Unit: meter.Packets, Rate: 1, Window: windowLength, Entries: 4}})
	b.Ask(program, packetOf(100))
	var bucket meter.CMeterBucket
	if err := table.Lookup(uint32(0), &bucket); err != nil {
		t.Fatal(err)
	}
	for i := range bucket.Way {
		if bucket.Way[i].Who != 0 {
			bucket.Way[i].At += uint64(time.Hour)
			bucket.Way[i].Verdict = uint32(nf.Drop)
		}
	}
	if err := table.Put(uint32(0), &bucket); err != nil {
		t.Fatal(err)
	}
	if got := b.Ask(program, packetOf(100)).Verdict; got != nf.Drop {
		t.Errorf("%v, want %v: the window that is dropped has just begun", got, nf.Drop)
	}
}
