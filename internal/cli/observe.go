package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newObserve(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "observe",
		Short: "Watch flows begin, change, end and be dropped, with names",
		Long: `Show flows, one line each: the youngest that are open, and with --follow what
becomes of all from now on, until Ctrl-C. Names stand in the place of addresses
where one is known. Dropped packets are a sample.

Nobody keeps flows that have ended: what happened before is known while somebody
watches, or from the log.`,
		Example: `  realmgate observe --last 100
  realmgate observe --follow --verdict dropped
  realmgate observe --follow --host hosta.foo.example --country DE -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	request := client.ObserveRequest{Last: -1}
	for _, f := range []struct{ key, kind, usage string }{
		{"from", "end", "who began it: an address, a prefix or the `NAME` of a host"},
		{"to", "end", "who it is for: the same, or the `NAME` of a service"},
		{"name", "name", "the service `NAME` that was asked for"},
		{"host", "name", "the `HOST` inside"},
		{"reason", "reason", "why it was dropped, a `REASON`"},
		{"verdict", "word", "`VERDICT`: forwarded or dropped"},
		{"country", "country", "where the end outside is, a `COUNTRY` as DE"},
		{"last", "number", "`N` of the flows that are open, the youngest, at most 4,096; 20 without --follow"},
	} {
		command.Flags().Var(&traceFlag{set: func(s string) error { return request.Set(f.key, s) }, kind: f.kind}, f.key, f.usage)
	}
	command.Flags().BoolVar(&request.Follow, "follow", false, "go on with everything new")
	command.RunE = does(func(ctx context.Context) error {
		begin, show, end := a.flowLines()
		if output.value == "json" {
			array := newJSONArray(a.stdout)
			begin, end = func() error { return nil }, array.end
			show = func(f client.Flow) error { return cmp.Or(array.add(f), array.flush()) }
		}
		begun := false
		var failed error
		err := client.FlowsOf(a.client()).Observe(ctx, request, func() {
			begun, failed = true, begin()
		}, func(f client.Flow) bool {
			failed = cmp.Or(failed, show(f))
			return failed == nil
		})
		if !begun && err != nil {
			return err
		}
		if errors.Is(err, context.Canceled) {
			err = nil // Ctrl-C is how this ends
		}
		return cmp.Or(failed, end(), err)
	})
	return command
}

// flowLines shows a line for each flow at once, in columns wide enough for what will come.
func (a *app) flowLines() (begin func() error, show func(client.Flow) error, end func() error) {
	paint := func(_ bool, text string) string { return text }
	if isTerminal(a.stdout) && os.Getenv("NO_COLOR") == "" {
		paint = func(good bool, text string) string {
			color := "31" // red
			if good {
				color = "32"
			}
			return "\x1b[" + color + "m" + text + "\x1b[0m"
		}
	}
	line := func(time, verdict, event, protocol, rest string) error {
		_, err := fmt.Fprintf(a.stdout, "%-12s  %s  %-7s  %-8s  %s\n", time, verdict, event, protocol, rest)
		return written(err)
	}
	begin = func() error { return line("TIME", fmt.Sprintf("%-9s", "VERDICT"), "EVENT", "PROTOCOL", "FLOW") }
	show = func(f client.Flow) error {
		if f.Lost > 0 {
			if _, err := fmt.Fprintf(a.stdout, "%d flows came too fast and are not shown\n", f.Lost); err != nil {
				return written(err)
			}
		}
		verdict := paint(f.Verdict == "forwarded", fmt.Sprintf("%-9s", plain(f.Verdict)))
		return line(f.Time.In(a.zone).Format("15:04:05.000"), verdict, plain(f.Event), f.Protocol.String(), plain(flowText(f)))
	}
	return begin, show, func() error { return nil }
}

// flowText says who speaks to whom: from → to, by which endpoint of the gateway, and what there is to know of it.
func flowText(f client.Flow) string {
	to := f.ToName
	if f.Name != "" {
		to = f.Name
	}
	text := endText(f.FromName, f.From) + " → " + endText(to, f.To)
	if f.Via.IsValid() {
		text += " via " + f.Via.String()
	}
	for _, word := range []string{f.State, f.Country, string(f.Reason)} {
		if word != "" {
			text += "  " + word
		}
	}
	return text
}

// endText is a name and a port, or the address and the port.
func endText(name string, at netip.AddrPort) string {
	if name == "" {
		return at.String()
	}
	return fmt.Sprintf("%s:%d", strings.TrimSuffix(name, "."), at.Port())
}
