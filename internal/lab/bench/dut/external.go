package dut

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var external = bench.Model{
	Name:     "external",
	About:    "any box between two interfaces of this machine: bench run SCENARIO --external INITIATOR,RESPONDER",
	External: true,
	New:      func() bench.Device { return &externalDevice{} },
}

// externalDevice stands where it stands: it was set up by others, and tells
// nothing of itself.
type externalDevice struct{ rig *bench.Rig }

// resetWithin is what a box may take to end all its sessions: netfilter took 150 s for
// 40 million (Lencse and Shima, Table III).
const resetWithin = 10 * time.Minute

func (d *externalDevice) Up(_ context.Context, rig *bench.Rig, _ bench.Setup) error {
	d.rig = rig
	return nil
}

// Reset runs the command that a person gave for it, if there is one.
func (d *externalDevice) Reset(ctx context.Context) error {
	if d.rig.ResetCommand == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resetWithin)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", d.rig.ResetCommand)
	command.WaitDelay = time.Second // for what it left in the background
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", d.rig.ResetCommand, err, bytes.TrimSpace(out))
	}
	return nil
}

func (*externalDevice) Count(context.Context) (int, error)    { return 0, bench.ErrUnsupported }
func (*externalDevice) Memory(context.Context) (int64, error) { return 0, bench.ErrUnsupported }
func (*externalDevice) Down() error                           { return nil }
