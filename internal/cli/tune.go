package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

func newTune(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "tune --sessions N",
		Short: "Say how to set a gateway up for so many sessions",
		Long: `Say how to set a gateway up for so many sessions at a time, and how much memory
they take: one on the kernel's connection tracking (iptables, nftables), with lines
ready to paste, and this one. The figures come from a model of what was measured;
docs/results has the measurements. Nothing is changed, and no root is needed.`,
		Example: `  realmgate tune --sessions 1000000
  realmgate tune --sessions 40000000 -o json | jq .netfilter.hashsize`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	sessions := command.Flags().Int("sessions", 0, "how many sessions at a time, `N` (required)")
	command.RunE = func(command *cobra.Command, args []string) error {
		if *sessions < 1 || *sessions > bench.MostSessions {
			return usageError(fmt.Sprintf("say how many sessions with --sessions N: 1 to %d", bench.MostSessions))
		}
		return does(func(context.Context) error {
			advice, err := adviseHere(*sessions)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.stdout, advice)
			}
			return advice.write(a.stdout)
		})(command, args)
	}
	return command
}

// advice is what the model says, and what this machine has.
type advice struct {
	method.Advice
	Available     int64 `json:"available_bytes"`         // memory of this machine, now
	MostNetfilter int   `json:"netfilter_sessions_here"` // that would fit into it at the most they take, up to those asked for
	MostRealmgate int   `json:"realmgate_sessions_here"`
}

func adviseHere(sessions int) (advice, error) {
	available, err := bench.AvailableMemory()
	return advice{
		Advice: method.Advise(sessions), Available: available,
		MostNetfilter: method.MostThatFit(sessions, available, func(n int) int64 { return method.Advise(n).Netfilter.MostBytes }),
		MostRealmgate: method.MostThatFit(sessions, available, func(n int) int64 { return method.Advise(n).Realmgate.MostBytes }),
	}, err
}

func (x advice) write(w io.Writer) error {
	var text bytes.Buffer
	n, r := x.Netfilter, x.Realmgate
	fmt.Fprintf(&text, `%s sessions at a time. This machine has %s of memory available.

MEMORY     %-38s  %s
netfilter  %-38s  %s
realmgate  %-38s  %s

Netfilter takes it while the sessions stand, and %s of it, for %s buckets, from the
start. 128 bytes of a session are for what may be attached to it: masquerading, accounting, time
stamps, labels, helpers. The lab of this program measures %d bytes on Linux 6.18, where nothing is.
Lencse and Shima measured 385.4 on Linux 4.9, whole slabs of the allocator: %s in all.
Realmgate takes it at the start, %s of it for each outbound address.
%s

NETFILTER (iptables, nftables): %s
`, count(uint64(x.Sessions)), gibibytes(x.Available),
		"AT LEAST", "AT MOST",
		fmt.Sprintf("%s: %d bytes a session", gibibytes(n.LeastBytes), method.ConnectionBytes),
		fmt.Sprintf("%s: %d bytes a session", gibibytes(n.MostBytes), method.ConnectionBytes+method.AttachedBytes),
		fmt.Sprintf("%s: 1 outbound address", gibibytes(r.LeastBytes)),
		fmt.Sprintf("%s: %s", gibibytes(r.MostBytes), outbound(r.Outbound)),
		gibibytes(n.BucketBytes), count(uint64(n.HashSize)), method.ConnectionBytes, gibibytes(n.LencseBytes),
		gibibytes(r.EachOutbound), enough(x.Sessions, r.Outbound), fits(x.Sessions, x.MostNetfilter))
	if n.HashSize <= method.UsualBuckets {
		fmt.Fprintf(&text, `
  # The kernel chooses %d for both on a machine with more than 4 GiB of memory: where it
  # has more than what stands here, leave hashsize and nf_conntrack_max out.
`, method.UsualBuckets)
	}
	fmt.Fprintf(&text, `
  # /etc/modprobe.d/nf_conntrack.conf (at once: echo %d >/sys/module/nf_conntrack/parameters/hashsize)
  options nf_conntrack hashsize=%d

  # /etc/modules-load.d/nf_conntrack.conf (at once: modprobe nf_conntrack)
  # The settings below exist only once the module is loaded.
  nf_conntrack

  # /etc/sysctl.d/60-nf_conntrack.conf (at once: sysctl --system)
  net.netfilter.nf_conntrack_max = %d
`, n.HashSize, n.HashSize, n.Most)
	for _, t := range n.Timeouts {
		fmt.Fprintf(&text, "  # %s (default %d)\n  net.netfilter.%s = %d\n", t.Why, t.Default, t.Name, t.Value)
	}
	fmt.Fprintf(&text, `
REALMGATE: %s

  # realmgate.yaml
  capacity: %d
`, fits(x.Sessions, x.MostRealmgate), r.Capacity)
	_, err := w.Write(text.Bytes())
	return written(err)
}

func outbound(n int) string {
	if n == 1 {
		return "1 outbound address"
	}
	return fmt.Sprintf("%d outbound addresses", n)
}

// enough says what so many outbound addresses do for so many sessions.
func enough(sessions, n int) string {
	const share = "sessions of one inside port share theirs"
	switch {
	case n*method.PortsForAll < sessions:
		return fmt.Sprintf("It takes %d outbound addresses at most, with fewer ports than sessions: %s.", n, share)
	case n == 1:
		return "One outbound address has a port for each session."
	}
	return fmt.Sprintf("%d outbound addresses have a port for each session; fewer do, since %s.", n, share)
}

func fits(sessions, most int) string {
	if most >= sessions {
		return "fits here"
	}
	return fmt.Sprintf("does not fit here: %s sessions would", count(uint64(most)))
}

func gibibytes(n int64) string {
	if n < 1<<30 {
		return memory(uint64(n))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
