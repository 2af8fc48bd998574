package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newChain(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "chain",
		Short: "See and change the chains of network functions",
		Long: `A chain is a row of network functions. The first chain that matches a flow judges
its first packet, and each packet that comes next after the policy changed.`,
		Example: `  realmgate chain list
  realmgate chain show web
  realmgate chain move web friends --before filter`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newChainList(a), newChainShow(a), newChainInsert(a), newChainRemove(a), newChainMove(a), newChainSave(a))
	return command
}

func newChainList(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the chains in the order in which they are sought",
		Long: `List the chains in the order in which they are sought, with what they match. Those
that commands changed, and the configuration file does not have so, are marked *.`,
		Example: "  realmgate chain list",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		chains, err := a.client().Chains(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, chains)
		}
		t, note := newTable("CHAIN", "MATCH", "FUNCTIONS"), ""
		for _, c := range chains {
			names := make([]string, len(c.Functions))
			for i, f := range c.Functions {
				names[i] = f.Name
			}
			name := c.Name
			if len(c.Changes) > 0 {
				name += "*"
				note = changedNote
			}
			t.add(name, matched(c.Match), strings.Join(names, " "))
		}
		_, err = io.WriteString(a.stdout, t.String()+note)
		return written(err)
	})
	return command
}

const changedNote = "* Changed by command: the next reload forgets it, unless realmgate chain save comes before.\n"

// matched writes matches as "direction in, port 80; or direction out".
func matched(matches []map[string]string) string {
	const most = 3
	var all []string
	for _, match := range matches[:min(most, len(matches))] {
		all = append(all, matchedBy(match))
	}
	if more := len(matches) - most; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, "; or ")
}

func matchedBy(match map[string]string) string {
	var said []string
	for _, key := range slices.Sorted(maps.Keys(match)) {
		said = append(said, key+" "+match[key])
	}
	if len(said) == 0 {
		return "all"
	}
	return strings.Join(said, ", ")
}

func newChainShow(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "show CHAIN",
		Short: "Show the functions of a chain and what they did",
		Long: `Show the functions of a chain in the order in which they are asked. SEEN counts the
packets that a function was asked about, ACCEPTED and DROPPED those that it decided,
FAILED those that it could not judge. NS is what it took on average, of one packet
in 1,024, two readings of the clock with it. Below stand the backends of multipath.
The counts go on when other functions come, leave or move.`,
		Example: "  realmgate chain show web",
		Args:    takes("a chain: see realmgate chain list"),
	}
	output := outputFlag(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		return does(func(ctx context.Context) error {
			chains, err := a.client().Chains(ctx)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(chains, func(c client.Chain) bool { return c.Name == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no chain %q: see realmgate chain list", args[0])
			}
			if output.value == "json" {
				return writeJSON(a.stdout, chains[i])
			}
			t := newTable("FUNCTION", "USE", ">PRIORITY", ">SEEN", ">ACCEPTED", ">DROPPED", ">FAILED", ">NS")
			for _, f := range chains[i].Functions {
				t.add(f.Name, f.Use, strconv.Itoa(f.Priority), count(f.Seen), count(f.Accepted), count(f.Dropped), count(f.Failed), timed(f))
			}
			note := ""
			if changes := chains[i].Changes; len(changes) > 0 {
				note = fmt.Sprintf("Changed by command, not in the file: %s.\n", plain(strings.Join(changes, ", ")))
			}
			_, err = io.WriteString(a.stdout, t.String()+backends(chains[i].Functions, a.now())+note)
			return written(err)
		})(command, args)
	}
	return command
}

// backends is a table of those of all functions, empty where they have none.
func backends(functions []client.Function, now time.Time) string {
	t := newTable("FUNCTION", "BACKEND", ">WEIGHT", "STATE", ">FOR", "ERROR")
	for _, f := range functions {
		for _, b := range f.Backends {
			endpoint, lasts := b.To.String(), ""
			if b.Port > 0 {
				endpoint = netip.AddrPortFrom(b.To, b.Port).String()
			}
			if !b.Since.IsZero() {
				lasts = span(now.Sub(b.Since).Seconds())
			}
			t.add(f.Name, endpoint, strconv.Itoa(b.Weight), plain(b.State), lasts, plain(b.Error))
		}
	}
	if len(t.rows) == 0 {
		return ""
	}
	return t.String()
}

func timed(f client.Function) string {
	if f.Samples == 0 {
		return "-"
	}
	return count(f.NsEach)
}
