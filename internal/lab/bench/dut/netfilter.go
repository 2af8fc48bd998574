package dut

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// netfilter is what the devices inside the kernel's own forwarding share.
type netfilter struct {
	rig   *bench.Rig
	setup bench.Setup
	// tracked says that sessions are in conntrack's table.
	tracked bool
}

// forward makes the kernel route between the rig's interfaces.
func (n *netfilter) forward(rig *bench.Rig, setup bench.Setup) error {
	n.rig, n.setup = rig, setup
	return rig.Device.SetSysctl("net/ipv4/ip_forward", "1")
}

// prepare makes the kernel forward, and track connections where the setup needs it.
func (n *netfilter) prepare(rig *bench.Rig, setup bench.Setup) error {
	if err := n.forward(rig, setup); err != nil || !tracks(setup) {
		return err
	}
	return n.track()
}

// tracks says whether the sessions of a setup are in conntrack's table.
func tracks(s bench.Setup) bool {
	return s.Track && !s.NoTrack || s.NAT != (trafficgen.Addresses{}) || s.DNAT != (trafficgen.DNAT{})
}

// forwardsOnly is an error where the setup asks for more than what a control does,
// which forwards all as it is.
func forwardsOnly(s bench.Setup) error {
	if s.NAT != (trafficgen.Addresses{}) || s.DNAT != (trafficgen.DNAT{}) {
		return fmt.Errorf("%w: it translates nothing", bench.ErrUnsupported)
	}
	return nil
}

// Conntrack's settings for the whole machine.
const (
	hashSizePath = "/sys/module/nf_conntrack/parameters/hashsize"
	mostPath     = "/proc/sys/net/netfilter/nf_conntrack_max"
)

// track sizes the table of connections as Lencse and Shima advise: as many
// buckets as connections at most. Connections of UDP then live long enough.
func (n *netfilter) track() error {
	n.tracked = true
	err := n.Tune()
	seconds := strconv.Itoa(int(max(n.setup.Timeout, time.Second) / time.Second))
	for _, which := range []string{"udp_timeout", "udp_timeout_stream"} {
		err = errors.Join(err, n.rig.Device.SetSysctl("net/netfilter/nf_conntrack_"+which, seconds))
	}
	return err
}

// Tune implements bench.Tuner.
func (n *netfilter) Tune() error {
	if !n.tracked {
		return nil
	}
	most := 1 << bits.Len(uint(max(n.setup.Sessions, 1)-1))
	buckets := most
	if n.setup.HashSize > 0 {
		buckets = n.setup.HashSize
	}
	return errors.Join(n.rig.Host.Set(hashSizePath, strconv.Itoa(buckets)), n.rig.Host.Set(mostPath, strconv.Itoa(max(most, 1024))))
}

// Reset flushes the table of connections.
func (n *netfilter) Reset(context.Context) error {
	return n.rig.Device.Do(func() error { return netlink.ConntrackTableFlush(netlink.ConntrackTable) })
}

// Count asks conntrack itself, where it tracks.
func (n *netfilter) Count(context.Context) (int, error) {
	if !n.tracked {
		return 0, bench.ErrUnsupported
	}
	text, err := n.rig.Device.Sysctl("net/netfilter/nf_conntrack_count")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// Down leaves what goes with the namespace.
func (n *netfilter) Down() error { return nil }

// run runs a program in the device's namespace, with standard input.
func (n *netfilter) run(ctx context.Context, input, name string, arguments ...string) error {
	command := n.rig.Device.Command(ctx, name, arguments...)
	command.Stdin = strings.NewReader(input)
	if out, err := command.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%s is not installed: install it, or leave the device out", name)
		}
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// timed returns how long f took.
func timed(f func() error) (time.Duration, error) {
	begin := time.Now()
	err := f()
	return time.Since(begin), err
}

// span writes addresses as FIRST-LAST, which iptables and nft both read.
func span(a trafficgen.Addresses) string { return a.First.String() + "-" + a.Last().String() }
