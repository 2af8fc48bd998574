package dut

import (
	"context"
	"errors"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var conntrack = bench.Model{
	Name:  "conntrack",
	About: "the kernel's forwarding with connection tracking, nothing translated",
	Tools: []string{"nft"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &conntrackDevice{} },
}

type conntrackDevice struct{ netfilter }

// Up adds one rule that wants the state of connections.
func (d *conntrackDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := errors.Join(forwardsOnly(setup), d.forward(rig, setup)); err != nil {
		return err
	}
	if err := d.track(); err != nil {
		return err
	}
	return d.run(ctx, `table ip bench { chain forward { type filter hook forward priority 0; ct state invalid drop; }; }`, "nft", "-f", "-")
}
