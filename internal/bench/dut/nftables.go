package dut

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

var nftables = bench.Model{
	Name:  "nftables",
	About: "nftables over the kernel's connection tracking",
	Tools: []string{"nft"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &nftablesDevice{} },
}

type nftablesDevice struct{ netfilter }

func (d *nftablesDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := d.forward(rig, setup); err != nil {
		return err
	}
	if err := d.track(); err != nil {
		return err
	}
	return d.run(ctx, nftablesRules(setup), "nft", "-f", "-")
}

// nftablesRules writes the setup for nft.
func nftablesRules(setup bench.Setup) string {
	nat := ""
	if setup.NAT != (trafficgen.Addresses{}) {
		nat = fmt.Sprintf("oifname %s snat to %s", bench.PublicInterface, span(setup.NAT))
	}
	return fmt.Sprintf("table ip bench { chain postrouting { type nat hook postrouting priority srcnat; %s; }; }\n", nat)
}
