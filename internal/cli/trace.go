package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newTrace(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "trace",
		Short: "Say who had an address and a port at a time",
		Long: `Say which host had an address and a port of the gateway at a time: what somebody
outside wants to know who has it in a log. The answer is from the NAT log, so the
configuration has to have a "log" with a directory.

--at takes a date and a time, of this machine's time zone unless it says another:
"2026-11-30 09:12:03.250", 2026-11-30T09:12:03Z. A second is all of it, and so is a
minute without a second: all who had the port within are listed. A time that is
between two users is nobody's. Clocks differ: ask for some seconds before and after,
too.`,
		Example: `  realmgate trace --address 192.0.2.1 --port 40312 --at 2026-11-30T09:12:03
  realmgate trace --address 192.0.2.1 --port 40312 --protocol udp --at 2026-11-30T09:12:03.250Z -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	var request client.TraceRequest
	for _, f := range []struct{ key, usage string }{
		{"address", "the `ADDRESS` of the gateway that was seen outside"},
		{"port", "its `PORT`; of ICMP the identifier"},
		{"protocol", "the `PROTOCOL`: tcp, udp or icmp; without it each"},
	} {
		command.Flags().Var(&traceFlag{set: func(s string) error { return request.Set(f.key, s) }, kind: f.key}, f.key, f.usage)
	}
	command.Flags().Var(&traceFlag{set: func(s string) error {
		at, err := a.parseTime(s)
		request.SetAt(at, s)
		return err
	}, kind: "time"}, "at", "the `TIME`")
	command.RunE = func(command *cobra.Command, args []string) error {
		if !request.Address.IsValid() || request.At.IsZero() {
			return usageError("give --address and --at")
		}
		return does(func(ctx context.Context) error {
			traced, err := client.LogOf(a.client()).Trace(ctx, request)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.stdout, traced)
			}
			return a.writeTraced(request, traced)
		})(command, args)
	}
	return command
}

// traceFlag is one part of a request.
type traceFlag struct {
	set  func(string) error
	kind string
	text string
}

func (f *traceFlag) String() string { return f.text }
func (f *traceFlag) Type() string   { return f.kind }

func (f *traceFlag) Set(s string) error {
	f.text = s
	return f.set(s)
}

const stamp = "2006-01-02 15:04:05.000 MST"

// writeTraced says who it was, and how sure that is.
func (a *app) writeTraced(r client.TraceRequest, x client.Traced) error {
	t := newTable("HOST", "PRIVATE", "EXTERNAL", "PROTOCOL", "BY", "SINCE", "UNTIL")
	synchronised := true
	for _, u := range x.Users {
		since, until := u.Since.In(a.zone).Format(stamp), "-"
		if u.Earlier {
			since = "before " + since
		}
		if !u.Until.IsZero() {
			until = u.Until.In(a.zone).Format(stamp)
		}
		synchronised = synchronised && u.Synchronised
		t.add(cmp.Or(u.Host, "-"), u.Private.String(), u.External.String(), u.Protocol.String(), u.By, since, until)
	}
	if len(x.Users) > 0 {
		if err := t.write(a.stdout); err != nil {
			return err
		}
	}
	for _, line := range doubts(r, x, synchronised) {
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return written(err)
		}
	}
	return nil
}

// doubts are what one has to know of an answer.
func doubts(r client.TraceRequest, x client.Traced, synchronised bool) (lines []string) {
	switch {
	case !x.Begins.Before(r.Until) || x.Begins.IsZero():
		lines = append(lines, "The log has nothing of that time.")
	case x.Begins.After(r.At):
		lines = append(lines, "The log begins within that time.")
	case len(x.Users) == 0:
		lines = append(lines, "Nobody had it then.")
	}
	if x.More {
		lines = append(lines, "There were more within that time: ask about less of it.")
	}
	if x.Lost > 0 {
		lines = append(lines, fmt.Sprintf("%d records of about that time are lost: it may be wrong.", x.Lost))
	}
	if x.Gap {
		lines = append(lines, "The log was off for a while about that time: it may be wrong.")
	}
	if !synchronised {
		lines = append(lines, "The gateway's clock was not synchronised: the times may be wrong.")
	}
	return lines
}
