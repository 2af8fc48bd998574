package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newChainInsert(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "insert CHAIN FUNCTION",
		Short: "Put a function into a chain",
		Long: `Put a function into a chain at once, and judge the sessions again at their next
packet. FUNCTION is its entry in YAML, as in the configuration file; - reads it from
standard input. Where no flag says a place, it stands where its entry says.

The file stays as it is: the next reload or restart forgets the change, unless
"realmgate chain save" came before it.`,
		Example: "  realmgate chain insert out '{use: filter, name: no-smtp, deny: [{protocol: tcp, port: 25}]}' --before filter",
		Args:    takes("a chain: see realmgate chain list", "the function's entry in YAML, or - to read it from standard input"),
	}
	place := addPlaceFlags(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		r, err := place.request(command, args)
		if err != nil {
			return err
		}
		return does(func(ctx context.Context) error {
			if r.Function == "-" {
				entry, err := io.ReadAll(command.InOrStdin())
				if err != nil {
					return fmt.Errorf("read the function: %w", err)
				}
				r.Function = string(entry)
			}
			return a.changeChain(ctx, r, a.client().ChainEditor().Insert)
		})(command, args)
	}
	return command
}

func newChainMove(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "move CHAIN FUNCTION",
		Short: "Put a function of a chain to another place",
		Long: `Put a function of a chain to another place: beside another, whose priority it gets,
or behind those of a priority. What its entry said of priority, before and after is
no more. The file stays as it is, as with "realmgate chain insert".`,
		Example: `  realmgate chain move web friends --after filter
  realmgate chain move web friends --priority 5`,
		Args: takes("a chain: see realmgate chain list", "a function: see realmgate chain show CHAIN"),
	}
	place := addPlaceFlags(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		r, err := place.request(command, args)
		if err != nil {
			return err
		}
		if r.Before == "" && r.After == "" && r.Priority == nil {
			return usageError("say where to: --before, --after or --priority")
		}
		return does(func(ctx context.Context) error { return a.changeChain(ctx, r, a.client().ChainEditor().Move) })(command, args)
	}
	return command
}

func newChainRemove(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "remove CHAIN FUNCTION",
		Short: "Take a function out of a chain",
		Long: `Take a function out of a chain at once, and judge the sessions again at their next
packet. The file stays as it is, as with "realmgate chain insert".`,
		Example: "  realmgate chain remove out no-smtp",
		Args:    takes("a chain: see realmgate chain list", "a function: see realmgate chain show CHAIN"),
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		return does(func(ctx context.Context) error {
			return a.changeChain(ctx, client.ChainRequest{Chain: args[0], Function: args[1]}, a.client().ChainEditor().Remove)
		})(command, args)
	}
	return command
}

func (a *app) changeChain(ctx context.Context, r client.ChainRequest, change func(context.Context, client.ChainRequest) (client.ChainChange, error)) error {
	done, err := change(ctx, r)
	if err != nil {
		return err
	}
	functions := strings.Join(done.Functions, ", ")
	if functions == "" {
		functions = "no function"
	}
	_, err = fmt.Fprintf(a.stdout, "generation %d is in force; chain %s asks %s\n", done.Generation, plain(done.Chain), plain(functions))
	return written(err)
}

func newChainSave(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "save",
		Short: "Write changed chains to the configuration file",
		Long: `Make the gateway write the functions of the chains that commands changed to its
configuration file, so that they outlive reloads and restarts. All else in the file,
also what changed there since it was loaded, stays as it is.

Nothing is written where the functions of such a chain changed in the file too.`,
		Example: "  realmgate chain save",
		Args:    cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		done, err := a.client().ChainEditor().Save(ctx)
		if err != nil {
			return err
		}
		text := "no chain was changed by command: nothing to save\n"
		if n := len(done.Chains); n > 0 {
			text = fmt.Sprintf("%s saved to %s: %s\n", many(n, "chain", "chains"), plain(done.Config), plain(strings.Join(done.Chains, ", ")))
		}
		_, err = io.WriteString(a.stdout, text)
		return written(err)
	})
	return command
}

// placeFlags say where a function is put.
type placeFlags struct {
	before, after string
	priority      int
}

func addPlaceFlags(command *cobra.Command) *placeFlags {
	p := &placeFlags{}
	command.Flags().StringVar(&p.before, "before", "", "right before the function `NAME`, with its priority")
	command.Flags().StringVar(&p.after, "after", "", "right after the function `NAME`, with its priority")
	command.Flags().IntVar(&p.priority, "priority", 0, "behind the functions of priority `N`, 0 to 65535")
	return p
}

// request makes the request of a command with a chain, a function and a place.
func (p *placeFlags) request(command *cobra.Command, args []string) (client.ChainRequest, error) {
	r := client.ChainRequest{Chain: args[0], Function: args[1], Before: p.before, After: p.after}
	given := 0
	for _, name := range []string{"before", "after", "priority"} {
		if !command.Flags().Changed(name) {
			continue
		}
		if given++; command.Flag(name).Value.String() == "" {
			return r, usageError("--" + name + " takes the name of a function: see realmgate chain show CHAIN")
		}
	}
	if command.Flags().Changed("priority") {
		r.Priority = &p.priority
	}
	if given > 1 {
		return r, usageError("give one of --before, --after and --priority")
	}
	return r, nil
}
