package dut

import (
	"context"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// The device drops what conntrack calls invalid, so that a wrong sequence number
// loses a packet, and conntrack is as strict as can be.
func TestTCPSessionsAreRightToConntrack(t *testing.T) {
	for _, window := range []int{100, 300, 5000} { // the sessions are 1000
		measure(t, conntrack, bench.Setup{Track: true}, func(ctx context.Context, bed *bench.Bed) error {
			if err := bed.Rig.Device.SetSysctl("net/netfilter/nf_conntrack_tcp_be_liberal", "0"); err != nil {
				return err
			}
			if err := bed.Rig.Device.SetSysctl("net/netfilter/nf_conntrack_tcp_loose", "0"); err != nil {
				return err
			}
			o, err := bed.Sessions.TCP(ctx, window)
			if err != nil {
				return err
			}
			if n := bed.Tester.Flows.Count() * trafficgen.TCPSteps; int(o.Received()) != n {
				t.Errorf("%d of %d packets arrived", o.Received(), n)
			}
			states, err := tcpStates(bed)
			if err != nil {
				return err
			}
			if len(states) != bed.Tester.Flows.Count() || slices.ContainsFunc(states, func(s uint8) bool { return s != timeWait }) {
				t.Errorf("window %d: of %d sessions, conntrack holds %d, in states %v", window, bed.Tester.Flows.Count(), len(states), tally(states))
			}
			return bed.DUT.Reset(ctx)
		})
	}
}

// The tester excuses what NAT skips of netfilter's devices that translate, and never of this
// program.
func TestWhoPassesInvalid(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range All() {
		if m.PassesInvalid {
			got = append(got, m.Name)
		}
	}
	if want := []string{"iptables", "iptables-nft", "ipset", "nftables", "nftables-set", "nfqueue", "nfqueue-each"}; !slices.Equal(got, want) {
		t.Errorf("%q pass what conntrack finds INVALID, want %q", got, want)
	}
}

// timeWait is TCP_CONNTRACK_TIME_WAIT, where a session ends that was established
// and closed from both sides.
const timeWait = 7

// tcpStates lists the state of every TCP session that conntrack holds.
func tcpStates(bed *bench.Bed) (states []uint8, err error) {
	err = bed.Rig.Device.Do(func() error {
		flows, err := netlink.ConntrackTableList(netlink.ConntrackTable, netlink.FAMILY_V4)
		for _, flow := range flows {
			if tcp, ok := flow.ProtoInfo.(*netlink.ProtoInfoTCP); ok {
				states = append(states, tcp.State)
			}
		}
		return err
	})
	return states, err
}

func tally(states []uint8) map[uint8]int {
	of := map[uint8]int{}
	for _, s := range states {
		of[s]++
	}
	return of
}

// A program that decides about first packets holds them back, while those that
// follow go straight on: no packet may be sent before what it answers has arrived.
func TestTCPSessionsThroughAnAsynchronousDevice(t *testing.T) {
	flows, pool := bench.FlowsFor(1000, 1)
	measure(t, nfqueue, bench.Setup{NAT: pool, Sessions: flows.Count()}, func(ctx context.Context, bed *bench.Bed) error {
		if _, err := bed.Sessions.TCP(ctx, 300); err != nil {
			return err
		}
		return bed.DUT.Reset(ctx)
	})
}
