package dut

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var nftables = bench.Model{
	Name:  "nftables",
	About: "nftables over the kernel's connection tracking, a rule for each address",
	Tools: []string{"nft"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &nftablesDevice{} },

	PassesInvalid: true,
}

var nftablesSet = bench.Model{
	Name:  "nftables-set",
	About: "nftables as it is meant to be: addresses in sets and maps",
	Tools: []string{"nft"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &nftablesDevice{sets: true} },

	PassesInvalid: true,
}

type nftablesDevice struct {
	netfilter
	sets bool
}

func (d *nftablesDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if setup.Web.Hosts > 0 { // it reads no names
		setup.DNAT = setup.Web.Apart()
	}
	if err := d.prepare(rig, setup); err != nil {
		return err
	}
	return d.load(ctx)
}

// Front is an address for each host.
func (d *nftablesDevice) Front(i int) netip.Addr { return d.setup.Web.Apart().From.At(i) }

func (d *nftablesDevice) load(ctx context.Context) error {
	return d.run(ctx, nftablesRules(d.setup, d.sets), "nft", "-f", "-")
}

// Load times one nft -f, which is one transaction.
func (d *nftablesDevice) Load(ctx context.Context) (time.Duration, error) {
	if err := d.run(ctx, "flush ruleset\n", "nft", "-f", "-"); err != nil {
		return 0, err
	}
	return timed(func() error { return d.load(ctx) })
}

// Add adds a rule, or an element of the set.
func (d *nftablesDevice) Add(ctx context.Context) (time.Duration, error) {
	address := d.setup.Deny.At(d.setup.Deny.Count)
	command := fmt.Sprintf("add rule ip bench forward ip daddr %s drop\n", address)
	if d.sets {
		command = fmt.Sprintf("add element ip bench deny { %s }\n", address)
	}
	return timed(func() error { return d.run(ctx, command, "nft", "-f", "-") })
}
