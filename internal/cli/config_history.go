package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newConfigHistory(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "history",
		Short: "List the configurations that came into force",
		Long: `List the last 20 configurations that came into force, the latest last: when, by
whom and how. A reload of a file that says the same is no entry of its own.

"realmgate config show --number N" prints one, and "realmgate config rollback N"
puts it back.`,
		Example: `  realmgate config history`,
		Args:    cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		entries, err := a.client().ConfigEditor().History(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, entries)
		}
		t := newTable(">NUMBER", "SINCE", "BY", "HOW", ">GENERATION")
		for _, e := range entries {
			t.add(strconv.Itoa(e.Number), a.cell(e.Since), e.By, howOf(e), strconv.FormatUint(uint64(e.Generation), 10))
		}
		return t.write(a.stdout)
	})
	return command
}

// howOf says in words how an entry came into force.
func howOf(e client.HistoryEntry) string {
	text := map[string]string{
		client.HowConfirm: "reload --confirm", client.HowSave: "chain save", client.HowRollback: "rollback", client.HowUnconfirmed: "reload not confirmed: back",
	}[e.How]
	if text == "" {
		text = e.How
	}
	if e.To != 0 {
		text += fmt.Sprintf(" to %d", e.To)
	}
	if len(e.Kept) > 0 {
		text += ", and kept " + strings.Join(e.Kept, ", ")
	}
	return text
}

func newConfigRollback(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "rollback NUMBER",
		Short: "Put an earlier configuration back",
		Long: `Write an earlier configuration to the file, with its comments, and put it into
force. NUMBER is that of "realmgate config history". The files of the folder beside
it come back, too. What they had goes on under other names, which are printed.

An error changes nothing. A reload that waits to be confirmed waits no more.`,
		Example: `  realmgate config rollback 7`,
		Args:    takes("the number of the configuration, as realmgate config history has it"),
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		var number numberFlag
		if err := number.Set(args[0]); err != nil {
			return usageError(err.Error())
		}
		return does(func(ctx context.Context) error {
			done, err := a.client().ConfigEditor().Rollback(ctx, int(number))
			if err != nil {
				return err
			}
			text := fmt.Sprintf("generation %d is in force, with %s: the configuration of %d", done.Generation, many(done.Hosts, "host", "hosts"), number)
			for _, file := range done.Kept {
				text += "\nkept what it replaces: " + plain(file)
			}
			_, err = fmt.Fprintln(a.stdout, text)
			return written(err)
		})(command, args)
	}
	return command
}

// numberFlag is that of an entry of the history.
type numberFlag int

// String implements pflag.Value.
func (f *numberFlag) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.Itoa(int(*f))
}

// Type implements pflag.Value.
func (f *numberFlag) Type() string { return "number" }

// Set implements pflag.Value.
func (f *numberFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number of realmgate config history", text)
	}
	*f = numberFlag(n)
	return nil
}
