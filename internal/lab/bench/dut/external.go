package dut

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var external = bench.Model{
	Name:     "external",
	About:    "any box between two interfaces of this machine: bench run SCENARIO --external INITIATOR,RESPONDER",
	External: true,
	New:      func() bench.Device { return externalDevice{} },
}

// externalDevice stands where it stands: it was set up by others, and tells
// nothing of itself.
type externalDevice struct{}

func (externalDevice) Up(context.Context, *bench.Rig, bench.Setup) error { return nil }
func (externalDevice) Reset(context.Context) error                       { return nil }
func (externalDevice) Count(context.Context) (int, error)                { return 0, bench.ErrUnsupported }
func (externalDevice) Memory(context.Context) (int64, error)             { return 0, bench.ErrUnsupported }
func (externalDevice) Down() error                                       { return nil }
