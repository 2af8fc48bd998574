package dut

import (
	"context"
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var route = bench.Model{
	Name:  "route",
	About: "the kernel's own forwarding, without connection tracking",
	New:   func() bench.Device { return &routeDevice{} },
}

type routeDevice struct{ netfilter }

// Up asks for no tracking, so that the kernel does none: nothing in the namespace
// wants it.
func (d *routeDevice) Up(_ context.Context, rig *bench.Rig, setup bench.Setup) error {
	return errors.Join(forwardsOnly(setup), d.forward(rig, setup))
}

// Front is the host itself, behind a router.
func (d *routeDevice) Front(i int) netip.Addr { return d.setup.Web.Host(i) }

func (d *routeDevice) Reset(context.Context) error           { return nil }
func (d *routeDevice) Count(context.Context) (int, error)    { return 0, bench.ErrUnsupported }
func (d *routeDevice) Memory(context.Context) (int64, error) { return 0, bench.ErrUnsupported }
