package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// deviceNotes are what a reader must know of how a device is set up here, by its
// name.
var deviceNotes = map[string]string{
	"realmgate": "realmgate runs with outbound.quarantine 0s, and where it lends to strangers with pool.rest 1s, instead of 120s and 730s: " +
		"the kernel's NAT, too, gives a port anew as soon as its session has ended, and trials follow each other at once",
}

// noted is a scenario whose reports have the notes of its devices.
func noted(s bench.Scenario) bench.Scenario {
	if len(s.Modes) == 0 { // none is set up
		return s
	}
	run := s.Run
	s.Run = func(ctx context.Context, b *bench.Bench) error {
		for _, m := range b.Devices {
			if note, known := deviceNotes[m.Name]; known {
				b.Note("%s", note)
			}
		}
		return run(ctx, b)
	}
	return s
}

// inKernel are the devices that translate by the kernel's NAT.
var inKernel = []string{"iptables", "iptables-nft", "nftables", "nftables-set", "nfqueue", "nfqueue-each"}

// noteSources says what no setting changes once the kernel's NAT is there.
func noteSources(b *bench.Bench) {
	if slices.ContainsFunc(b.Devices, func(m bench.Model) bool { return slices.Contains(inKernel, m.Name) }) {
		b.Note("the kernel keeps the sources that it translates in a table of their own (nf_nat_bysource), which has as many buckets as hashsize " +
			"said when nf_nat was loaded or, where it is built in, when the machine started: the hashsize that is set here does not reach it, and " +
			"with more sessions than that, new ones cost the devices of netfilter more")
	}
}
