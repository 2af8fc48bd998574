package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

func newExplain(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "explain ADDRESS",
		Short: "Say what would decide about a flow, function by function",
		Long: `Say what would decide about a new flow from ADDRESS, in the order in which the
gateway asks: bans, names, NAT, and the functions of its chain. A packet that nobody
sent is really run through the chains; no counter, limit or session changes.

From a private host's address a flow goes out, to --to ADDRESS; from any other it
comes in, to --to NAME, which is a service or a host, or to an address of the
gateway's. At a web address the connection itself says a name: --name NAME tells
what becomes of one that says it. Without either every service is tried that may be
asked for. Of IPv6 bans and the protection alone are asked, about the port too where
it is given. The exit code is 0 whatever would become of the flow.`,
		Example: `  realmgate explain 203.0.113.7
  realmgate explain 203.0.113.7 --to www.hosta.foo.example
  realmgate explain 203.0.113.7 --name shop.foo.example
  realmgate explain 2001:db8::7 --protocol tcp --port 23
  realmgate explain 10.0.0.100 --to 192.0.2.25 --protocol tcp --port 25`,
		Args: takes("an address: who would begin the flow"),
	}
	output := outputFlag(command)
	var request client.ExplainRequest
	for _, f := range []struct{ key, usage string }{
		{"to", "where to, a `NAME` or an address"},
		{"name", "the `NAME` that the connection says, as SNI or Host, to a web address: tcp port 443 if nothing else is given"},
		{"protocol", "the flow's `PROTOCOL`: tcp, udp, icmp, gre, esp or another that is translated; without it the service's"},
		{"port", "the `PORT` that it goes to; without it the service's"},
		{"direction", "the `WAY` that it goes, in or out, whatever the address"},
	} {
		command.Flags().Var(&explainFlag{request: &request, key: f.key}, f.key, f.usage)
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := request.Set("address", args[0]); err != nil {
			return usageError(err.Error())
		}
		if err := request.Check(); err != nil {
			return usageError(err.Error())
		}
		return does(func(ctx context.Context) error {
			x, err := a.client().Explain(ctx, request)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.stdout, x)
			}
			return a.writeExplanation(x)
		})(command, args)
	}
	return command
}

// explainFlag is one part of a request.
type explainFlag struct {
	request *client.ExplainRequest
	key     string
	text    string
}

func (f *explainFlag) String() string { return f.text }
func (f *explainFlag) Type() string   { return f.key }

func (f *explainFlag) Set(s string) error {
	f.text = s
	return f.request.Set(f.key, s)
}

// writeExplanation ends with one line that says all.
func (a *app) writeExplanation(x client.Explanation) error {
	t := newTable("STEP", "SAYS", "WHY")
	for _, s := range x.Steps {
		t.add(s.Step, s.Says, s.Why)
	}
	reached := 0
	for _, s := range x.Services {
		says := "drop"
		if s.Passes {
			says, reached = "pass", reached+1
		}
		t.add(s.Name, says, strings.TrimSpace(fmt.Sprintf("%s port %s %s", s.Protocol, port(s.Port), because(s.Ending))))
	}
	if err := t.write(a.stdout); err != nil {
		return err
	}
	what := "a new flow"
	if x.Protocol != model.AnyProtocol {
		what = fmt.Sprintf("a new %s flow", x.Protocol)
	}
	what += " from " + x.From.String()
	if x.To != "" {
		what += " to " + x.To
	}
	switch {
	case x.Port != 0 && x.To == "":
		what += " to port " + port(x.Port)
	case x.Port != 0:
		what += " port " + port(x.Port)
	}
	if x.Name != "" {
		what += " that names " + x.Name
	}
	end := "would pass"
	switch {
	case x.To == "" && x.Name == "" && x.Reason == "":
		end = fmt.Sprintf("would reach %d of %s", reached, many(len(x.Services), "service", "services"))
	case !x.Passes:
		end = "would be dropped"
	}
	_, err := io.WriteString(a.stdout, plain(strings.TrimSpace(what+" "+end+" "+because(x.Ending)))+"\n")
	return written(err)
}

// because writes what decided, if anything did.
func because(e client.Ending) string {
	switch {
	case e.Function == "" && e.Reason == "":
		return ""
	case e.Function == "":
		return fmt.Sprintf("(%s)", e.Reason)
	case e.Reason == "":
		return fmt.Sprintf("(accepted by %s)", e.Function)
	}
	return fmt.Sprintf("(%s by %s)", e.Reason, e.Function)
}
