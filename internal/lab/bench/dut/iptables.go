package dut

import (
	"context"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var iptables = bench.Model{
	Name:  "iptables",
	About: "iptables (legacy) over the kernel's connection tracking",
	Tools: []string{"iptables-legacy-restore"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &iptablesDevice{restore: "iptables-legacy-restore"} },

	PassesInvalid: true,
}

type iptablesDevice struct {
	netfilter
	restore string // the program that reads the rules
}

func (d *iptablesDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := d.prepare(rig, setup); err != nil {
		return err
	}
	return d.load(ctx)
}

func (d *iptablesDevice) load(ctx context.Context) error {
	return d.run(ctx, iptablesText(iptablesRules(d.setup, false)), d.restore)
}

// Load times one iptables-restore, which puts in each table as one transaction.
func (d *iptablesDevice) Load(ctx context.Context) (time.Duration, error) {
	if err := d.run(ctx, iptablesEmpty(iptablesRules(d.setup, false)), d.restore); err != nil {
		return 0, err
	}
	return timed(func() error { return d.load(ctx) })
}

// Add has iptables -A read the whole table and write it back.
func (d *iptablesDevice) Add(ctx context.Context) (time.Duration, error) {
	program, address := strings.TrimSuffix(d.restore, "-restore"), d.setup.Deny.At(d.setup.Deny.Count).String()
	return timed(func() error { return d.run(ctx, "", program, "-A", "FORWARD", "-d", address, "-j", "DROP") })
}
