package dut

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// decided returns what the program did during do.
func decided(t *testing.T, bed *bench.Bed, do func() error) (d bench.Decisions, err error) {
	t.Helper()
	decider := bed.DUT.Device.(bench.Decider)
	before, err := decider.Decisions()
	if err != nil {
		return d, err
	}
	if err := do(); err != nil {
		return d, err
	}
	after, err := bed.DUT.Decided(t.Context(), decider)
	after.Made -= before.Made
	after.QueueFull -= before.QueueFull
	after.SocketFull -= before.SocketFull
	return after, err
}

func TestNFQueueDecidesOnceAboutEverySession(t *testing.T) {
	for _, queue := range []bench.Queue{{}, {Count: 4}, {Count: 4, ByCPU: true}} {
		measure(t, nfqueue, bench.Setup{Queue: queue}, func(ctx context.Context, bed *bench.Bed) error {
			n := bed.Tester.Flows.Count()
			d, err := decided(t, bed, func() error {
				_, err := bed.Sessions.Establish(ctx, trafficgen.Plan{})
				return err
			})
			if err != nil {
				return err
			}
			if d.Made != uint64(n) || d.QueueFull+d.SocketFull != 0 {
				t.Errorf("%+v: of %d sessions: %+v", queue, n, d)
			}
			// Those that follow, either way, are not asked about.
			d, err = decided(t, bed, func() error {
				_, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: 2 * n, Direction: trafficgen.Both, Random: true}, false)
				return err
			})
			if err != nil {
				return err
			}
			if d.Made != 0 {
				t.Errorf("%+v: the program was asked about %d packets of sessions that it knew", queue, d.Made)
			}
			return bed.DUT.Reset(ctx)
		})
	}
}

func TestNFQueueCountsWhatATinyQueueDrops(t *testing.T) {
	measure(t, nfqueue, bench.Setup{Queue: bench.Queue{Length: 2}}, func(ctx context.Context, bed *bench.Bed) error {
		var o trafficgen.Outcome
		d, err := decided(t, bed, func() (err error) {
			o, err = bed.Sessions.Establish(ctx, trafficgen.Plan{Rate: 1e6})
			return err
		})
		if err != nil {
			return err
		}
		if o.Lost() == 0 || d.QueueFull+d.SocketFull != o.Lost() || d.Made != o.Received() {
			t.Errorf("sent %d, lost %d: %+v", o.Sent, o.Lost(), d)
		}
		return bed.DUT.Reset(ctx)
	})
}

func TestQueueCountersReadTheKernelsTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nfnetlink_queue")
	table := "    0  31621     4 2    64     5     7      123  1\n    1  31622     0 2    64     1     2      123  1\n"
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	if waiting, queue, socket, err := queueCounters(path); err != nil || waiting != 4 || queue != 6 || socket != 9 {
		t.Errorf("got %d, %d, %d, %v", waiting, queue, socket, err)
	}
	if err := os.WriteFile(path, []byte("no such table\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := queueCounters(path); err == nil {
		t.Error("a line that is none was taken")
	}
}
