package dut

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var splice = bench.Model{
	Name: "splice", About: "a proxy in Go: reads the name as realmgate does, and then copies (io.Copy, which splices)",
	New: func() bench.Device { return &spliceDevice{} },
}

type spliceDevice struct{ proxy }

// Up runs this program, as the lab's proxy.
func (d *spliceDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := onlyWeb(setup); err != nil {
		return err
	}
	arguments := []string{"bench", "splice", fmt.Sprintf(":%d", bench.WebPort)}
	for i := range setup.Web.Hosts {
		arguments = append(arguments, fmt.Sprintf("%s=%s:%d", setup.Web.Name(i), setup.Web.Host(i), bench.WebPort))
	}
	return d.start(ctx, rig, rig.Executable, arguments...)
}
