package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newCapture(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "capture",
		Short: "Capture the packets that a chain's mirror copies, or those that are dropped",
		Long: `Capture packets of the flows that a chain judges, as they came in: those that its
functions say to copy, as {use: mirror} does with every one. Or, with --drops, the
beginning of packets that the gateway drops: a sample, as "realmgate drops" shows
it. It ends with Ctrl-C or after --count of them, and says how many were captured
and how many lost.

With -w they are written in the pcapng format, which Wireshark and tcpdump read:
each with its interface and direction, and with a comment that says why it is
there. Else there is a line for each, in which a private host stands by its own
address.`,
		Example: `  realmgate capture --chain web
  realmgate capture --chain web -w web.pcapng --count 1000
  realmgate capture --drops -w drops.pcapng
  realmgate capture --chain web -w - | tcpdump -n -r -`,
		Args: cobra.NoArgs,
	}
	request, file, drops := client.CaptureRequest{}, "", false
	limit, snap := countFlag(0), snapFlag(client.MostSnap)
	flags := command.Flags()
	flags.StringVar(&request.Chain, "chain", "", "capture what this `CHAIN` copies")
	flags.BoolVar(&drops, "drops", false, "capture what the gateway drops, instead of a chain's")
	flags.StringVar(&request.Function, "function", "", "only what its function `NAME` copies")
	flags.StringVarP(&file, "write", "w", "", "write packets to `FILE` in the pcapng format; - is standard output")
	flags.Var(&limit, "count", "stop after `N` packets; 0 means never")
	flags.Var(&snap, "snap", "keep at most so many `BYTES` of a packet")
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case drops && (request.Chain != "" || request.Function != "" || command.Flags().Changed("snap")):
			return usageError("--drops captures of every chain: leave out --chain, --function and --snap")
		case drops && file == "":
			return usageError("--drops needs -w FILE: realmgate drops shows a line for each")
		case request.Chain == "" && !drops:
			return usageError("say which chain with --chain CHAIN (see realmgate chain list), or --drops")
		case file == "-" && isTerminal(a.stdout):
			return usageError("packets are not for a terminal: send them to a program, or give -w a file")
		}
		request.Snap = int(snap)
		what := "chain " + request.Chain
		if drops {
			request, what = client.CaptureRequest{}, "what is dropped"
		}
		var to packetSink = packetLines{a}
		if file != "" {
			to = &packetFile{app: a, path: file, what: what, snap: int(snap)}
		}
		return does(func(ctx context.Context) error { return a.capture(ctx, request, limit, to) })(command, args)
	}
	return command
}

// packetSink takes what is captured, from the moment at which the gateway has agreed.
type packetSink interface {
	begin() error
	add(client.Packet) error
	end() error
}

// capture captures until ctx ends or there are enough, and says how many there were.
func (a *app) capture(ctx context.Context, request client.CaptureRequest, limit countFlag, to packetSink) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var begun bool
	var captured, lost uint64
	var failed error
	err := a.client().Capture(ctx, request, func() {
		begun = true
		if failed = to.begin(); failed != nil {
			stop()
		}
	}, func(p client.Packet) bool {
		if failed = to.add(p); failed == nil {
			captured, lost = captured+1, p.Lost
		}
		return failed == nil && countFlag(captured) != limit
	})
	if !begun {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is how this ends
	}
	failed = cmp.Or(failed, to.end())
	_, _ = fmt.Fprintf(a.stderr, "%s captured, %s lost\n", manyPackets(captured), count(lost))
	return cmp.Or(failed, err)
}

func manyPackets(n uint64) string {
	if n == 1 {
		return "1 packet"
	}
	return count(n) + " packets"
}

// packetLines shows a line for each packet at once, in columns wide enough for what
// will come.
type packetLines struct{ *app }

func (l packetLines) line(cells ...any) error {
	_, err := fmt.Fprintf(l.stdout, "%-12s  %-15s  %-4s  %6v  %s\n", cells...)
	return written(err)
}

func (l packetLines) begin() error { return l.line("TIME", "FUNCTION", "FLOW", "LENGTH", "TUPLE") }
func (l packetLines) end() error   { return nil }

func (l packetLines) add(p client.Packet) error {
	return l.line(p.Time.In(l.zone).Format("15:04:05.000"), plain(p.Function), plain(p.Direction), p.Length, plain(tuple(p.Tuple)))
}

// packetFile writes a pcapng file, or standard output where its path is "-".
type packetFile struct {
	*app
	path string
	what string   // is captured
	snap int      // at most so many bytes of each
	file *os.File // nil for standard output
	pcapngWriter
}

func (f *packetFile) begin() error {
	f.out = f.stdout
	if f.path != "-" {
		var err error
		if f.file, err = os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("write packets: %w", err)
		}
		f.out = f.file
	}
	if err := f.pcapngWriter.begin(f.snap); err != nil {
		return f.wrote(err)
	}
	_, _ = fmt.Fprintf(f.stderr, "capturing %s: end with Ctrl-C\n", f.what)
	return nil
}

func (f *packetFile) add(p client.Packet) error { return f.wrote(f.pcapngWriter.add(p)) }

func (f *packetFile) end() error {
	if f.file == nil {
		return nil
	}
	return f.wrote(f.file.Close())
}

// wrote says what a failure to write was about.
func (f *packetFile) wrote(err error) error {
	if err != nil {
		return fmt.Errorf("write packets: %w", err)
	}
	return nil
}
