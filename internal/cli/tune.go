package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/method"
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
	MostNetfilter int   `json:"netfilter_sessions_here"` // that would fit into it, up to those asked for
	MostRealmgate int   `json:"realmgate_sessions_here"`
}

func adviseHere(sessions int) (advice, error) {
	available, err := bench.AvailableMemory()
	return advice{
		Advice: method.Advise(sessions), Available: available,
		MostNetfilter: method.MostThatFit(sessions, available, func(n int) int64 { return method.Advise(n).Netfilter.Bytes }),
		MostRealmgate: method.MostThatFit(sessions, available, func(n int) int64 { return method.Advise(n).Realmgate.Bytes }),
	}, err
}

func (x advice) write(w io.Writer) error {
	var text bytes.Buffer
	n, r := x.Netfilter, x.Realmgate
	fmt.Fprintf(&text, `%s sessions at a time. This machine has %s of memory available.

NETFILTER (iptables, nftables)
  memory   %s: %s of connections (%d bytes each, %d of them for what may be attached
           to one), %s of buckets (%d bytes each); %s by the figures of Lencse and Shima
  here     %s

  # /etc/modprobe.d/nf_conntrack.conf (at once: echo %d >/sys/module/nf_conntrack/parameters/hashsize)
  options nf_conntrack hashsize=%d

  # /etc/sysctl.d/60-nf_conntrack.conf (at once: sysctl --system)
  net.netfilter.nf_conntrack_max = %d
`, count(uint64(x.Sessions)), gibibytes(x.Available),
		gibibytes(n.Bytes), gibibytes(n.ConnectionBytes), method.ConnectionBytes+method.AttachedBytes, method.AttachedBytes,
		gibibytes(n.BucketBytes), method.BucketBytes, gibibytes(n.BytesSeed002),
		fits(x.Sessions, x.MostNetfilter), n.HashSize, n.HashSize, n.Most)
	for _, t := range n.Timeouts {
		fmt.Fprintf(&text, "  # %s (default %d)\n  net.netfilter.%s = %d\n", t.Why, t.Default, t.Name, t.Value)
	}
	fmt.Fprintf(&text, `
REALMGATE
  memory   %s, taken at the start: %.1f bytes for each of the capacity; %s more for each outbound
           address after the first (%d of them have a port for each session, fewer do: sessions of
           one inside port share theirs)
  here     %s

  # realmgate.yaml
  capacity: %d
`, gibibytes(r.Bytes), float64(r.Bytes)/float64(r.Capacity), gibibytes(r.EachOutbound), r.Outbound,
		fits(x.Sessions, x.MostRealmgate), r.Capacity)
	_, err := w.Write(text.Bytes())
	return written(err)
}

func fits(sessions, most int) string {
	if most >= sessions {
		return "fits"
	}
	return fmt.Sprintf("does not fit: %s sessions would", count(uint64(most)))
}

func gibibytes(n int64) string {
	if n < 1<<30 {
		return memory(uint64(n))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
