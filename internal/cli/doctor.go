package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/daemon"
	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/doctor/collect"
	"github.com/realmgate/realmgate/internal/lab/bench"
)

// usualConfig is where the package has the configuration.
const usualConfig = "/etc/realmgate.yaml"

// unwellError is a report that has been told, and the exit code that says how it is.
type unwellError struct {
	state doctor.State
	code  int
}

func (e unwellError) Error() string { return "the doctor found what is " + string(e.state) }

func newDoctor(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with the gateway and its machine, and how to repair it",
		Long: `Look at the machine, its networks, the configuration and the gateway, which need
not run. There is a line for each check: ✔ all is well, ! it could be better,
✘ it is broken. Each fault has the command or the change that repairs it. What
follows from another fault stands below that: repair the first, and ask again.

Nothing is changed but by --round-trip, which takes a name and opens a connection
as somebody outside would, and leaves nothing but an address that rests, and by
--profile, which has the kernel take times meanwhile: every packet costs more then,
and Ctrl-C ends it early. It takes root to see everything, and some seconds:
neighbours are asked by ARP, the router outside for the pool, and name servers for
the root and for who serves the zones.

The exit code is 0 if all is well, 1 if something could be better, and 2 if
something is broken. Without -c it takes the file of the gateway that runs, or else
/etc/realmgate.yaml.`,
		Example: `  realmgate doctor
  realmgate doctor -c /etc/realmgate.yaml -o json | jq '.checks[0]'
  realmgate doctor --round-trip www.hosta.foo.example
  realmgate doctor --profile 10s`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	file := command.Flags().StringP("config", "c", "", "configuration `FILE`, instead of that in force")
	name := command.Flags().String("round-trip", "", "take the service `NAME` as somebody outside, and connect to it")
	var long periodFlag
	command.Flags().Var(&long, "profile", "instead, take the times of the data plane's programs for `TIME`, as 10s")
	command.MarkFlagsMutuallyExclusive("profile", "round-trip")
	command.RunE = does(func(ctx context.Context) error {
		if long > 0 {
			p, err := collect.TakeProfile(ctx, cmp.Or(string(a.instance), client.DefaultInstance), time.Duration(long))
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.stdout, p)
			}
			_, err = io.WriteString(a.stdout, profileText(p))
			return written(err)
		}
		report := a.examine(ctx, *file, *name)
		if output.value == "json" {
			if err := writeJSON(a.stdout, report); err != nil {
				return err
			}
		} else if _, err := io.WriteString(a.stdout, doctorText(report)); err != nil {
			return written(err)
		}
		switch report.State {
		case doctor.Warning:
			return unwellError{report.State, 1}
		case doctor.Bad:
			return unwellError{report.State, 2}
		}
		return nil
	})
	return command
}

// examine looks at a configuration, or at that in force, and at the machine.
func (a *app) examine(ctx context.Context, file, name string) doctor.Report {
	if file == "" {
		file = a.configInForce(ctx)
	}
	o := collect.Options{File: file, Doubts: daemon.Doubts, Gateway: client.Options{Instance: string(a.instance), Socket: a.socket}, Name: name}
	o.Available, _ = bench.AvailableMemory() // else no capacity fits
	if file != "" {
		if o.Document, o.Error = config.Read(file); o.Error == nil {
			o.Error = daemon.Check(o.Document)
		}
		if o.Error != nil {
			o.Document = nil
		}
	}
	return doctor.Examine(collect.Facts(ctx, o))
}

// configInForce is the file of the gateway that runs, else the usual one, "" where there is none.
func (a *app) configInForce(ctx context.Context) string {
	ctx, stop := context.WithTimeout(ctx, collect.GatewayAnswers)
	defer stop()
	if status, err := a.client().Status(ctx); err == nil {
		return status.Config
	}
	if _, err := os.Stat(usualConfig); err == nil {
		return usualConfig
	}
	return ""
}

var doctorMarks = map[doctor.State]string{doctor.Good: "✔", doctor.Warning: "!", doctor.Bad: "✘"}

// doctorText has a line for each check, and one for each further fault, each with its remedy below.
func doctorText(r doctor.Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		if len(c.Faults) == 0 {
			fmt.Fprintf(&b, "%s %-15s %s\n", doctorMarks[c.State], c.Check, plain(c.Says))
		}
		doctorFaults(&b, "", c)
		for _, e := range c.Explains {
			doctorFaults(&b, "  so: ", e)
		}
	}
	return b.String()
}

func doctorFaults(b *strings.Builder, so string, c doctor.Result) {
	for n, f := range c.Faults {
		name := c.Check
		if n > 0 {
			name = ""
		}
		if so != "" {
			fmt.Fprintf(b, "%s%s %s: %s\n", so, doctorMarks[f.State], c.Check, plain(f.What))
			continue // its remedy is the cause's
		}
		fmt.Fprintf(b, "%s %-15s %s\n", doctorMarks[f.State], name, plain(f.What))
		if f.Remedy != "" {
			fmt.Fprintf(b, "  %-15s → %s\n", "", plain(f.Remedy))
		}
	}
}
