package dut

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

var iptables = bench.Model{
	Name:  "iptables",
	About: "iptables (legacy) over the kernel's connection tracking",
	Tools: []string{"iptables-legacy-restore"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &iptablesDevice{restore: "iptables-legacy-restore"} },
}

type iptablesDevice struct {
	netfilter
	restore string
}

func (d *iptablesDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := d.forward(rig, setup); err != nil {
		return err
	}
	if err := d.track(); err != nil {
		return err
	}
	return d.run(ctx, iptablesRules(setup), d.restore)
}

// iptablesRules writes the setup for iptables-restore.
func iptablesRules(setup bench.Setup) string {
	nat := ""
	if setup.NAT != (trafficgen.Addresses{}) {
		nat = fmt.Sprintf("-A POSTROUTING -o %s -j SNAT --to-source %s\n", bench.PublicInterface, span(setup.NAT))
	}
	return "*nat\n" + nat + "COMMIT\n"
}
