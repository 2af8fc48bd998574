package dut

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var null = bench.Model{
	Name:  "null",
	About: "forwards by XDP and does nothing else: what the tester itself costs",
	New:   func() bench.Device { return &nullDevice{} },
}

type nullDevice struct{ program *trafficgen.Null }

func (d *nullDevice) Up(_ context.Context, rig *bench.Rig, _ bench.Setup) error {
	return rig.Device.Do(func() (err error) {
		d.program, err = trafficgen.NewNull(rig.Private, rig.Public)
		return err
	})
}

func (d *nullDevice) Reset(context.Context) error           { return nil }
func (d *nullDevice) Count(context.Context) (int, error)    { return 0, bench.ErrUnsupported }
func (d *nullDevice) Memory(context.Context) (int64, error) { return 0, bench.ErrUnsupported }

func (d *nullDevice) Down() error {
	if d.program == nil {
		return nil
	}
	return d.program.Close()
}
