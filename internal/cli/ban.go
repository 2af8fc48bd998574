package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

func newBan(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "ban",
		Short: "Ban remote addresses",
		Long: `Drop everything from and to remote addresses, established sessions included from
their next packet on. Bans outlive restarts and crashes.`,
		Example: `  realmgate ban add 203.0.113.7 --for 1h
  realmgate ban list`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBanAdd(a), newBanList(a), newBanRemove(a))
	return command
}

func newBanAdd(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "add ADDRESS...",
		Short: "Ban addresses and prefixes",
		Long: `Ban remote addresses and prefixes, all of them or, with an error, none. A ban of the
same prefix is replaced, unless it holds for longer: such bans are named. The
gateway's own addresses, its next hops, its upstream name servers and what ignoreip
has cannot be banned.`,
		Example: `  realmgate ban add 203.0.113.7 --for 1h
  realmgate ban add 198.51.100.0/24 2001:db8::/64
  realmgate ban add --file bad.txt`,
	}
	file := banFile(command)
	var lasts lasting
	command.Flags().Var(&lasts, "for", "how long, as a `DURATION`: 10m, 24h or 7d; without it for ever")
	command.RunE = func(command *cobra.Command, args []string) error {
		return changeBans(command, args, *file, func(ctx context.Context, prefixes []netip.Prefix) error {
			done, err := asked(ctx, a.client().BanEditor().Add, client.BanRequest{Prefixes: prefixes, Seconds: time.Duration(lasts).Seconds()})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s banned%s\n", many(done.Prefixes, "prefix", "prefixes"), holdOn(done.Longer, a.now()))
			return written(err)
		})
	}
	return command
}

// holdOn says which bans hold for longer than those that were asked for.
func holdOn(longer []client.Ban, now time.Time) string {
	var list strings.Builder
	for i, b := range longer {
		list.WriteString([]string{"; banned for longer: ", ", "}[min(i, 1)] + b.Prefix.String() + " " + leftOf(b, now))
	}
	return list.String()
}

// leftOf is for how long a ban still holds.
func leftOf(b client.Ban, now time.Time) string {
	if b.Until.IsZero() {
		return "for ever"
	}
	return span(max(0, b.Until.Sub(now).Seconds()))
}

// lasting is a time above 0.
type lasting time.Duration

// String implements pflag.Value.
func (l *lasting) String() string {
	if *l == 0 {
		return ""
	}
	if d := time.Duration(*l); d%(24*time.Hour) != 0 {
		return d.String()
	}
	return strconv.Itoa(int(time.Duration(*l)/(24*time.Hour))) + "d"
}

// Type implements pflag.Value.
func (l *lasting) Type() string { return "duration" }

// Set implements pflag.Value.
func (l *lasting) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour //nolint:gosec // 16 bits of days are 179 years
	}
	if err != nil || d <= 0 {
		return errors.New("use a time above 0 with its unit, as 90m, 24h or 7d")
	}
	*l = lasting(d)
	return nil
}

func newBanRemove(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "remove ADDRESS...",
		Short: "End bans of addresses",
		Long: `End the bans of just these addresses and prefixes, and print how many of them were
banned. Those of wider prefixes go on, and are named. The offences of all in them
are forgotten: the next ban is a short one again.`,
		Example: `  realmgate ban remove 203.0.113.7
  realmgate ban remove --file bad.txt`,
	}
	file := banFile(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		return changeBans(command, args, *file, func(ctx context.Context, prefixes []netip.Prefix) error {
			done, err := asked(ctx, a.client().BanEditor().Remove, client.BanRequest{Prefixes: prefixes})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s banned no more%s\n", many(done.Prefixes, "prefix", "prefixes"), goOn(done.Wider))
			return written(err)
		})
	}
	return command
}

// goOn says which bans of wider prefixes somebody still has to end.
func goOn(wider []netip.Prefix) string {
	if len(wider) == 0 {
		return ""
	}
	var list strings.Builder
	for _, p := range wider {
		list.WriteString(" " + p.String())
	}
	return "; a wider ban goes on: realmgate ban remove" + list.String()
}

func banFile(command *cobra.Command) *string {
	return command.Flags().String("file", "", "`FILE` with more of them, one a line; - is standard input")
}

// changeBans reads the prefixes of a command.
func changeBans(command *cobra.Command, args []string, file string, change func(context.Context, []netip.Prefix) error) error {
	if len(args) == 0 && file == "" {
		return usageError("give addresses or prefixes, or --file")
	}
	var prefixes []netip.Prefix
	for _, text := range args {
		p, err := model.ParseNetwork(text)
		if err != nil {
			return usageError(err.Error())
		}
		prefixes = append(prefixes, p)
	}
	return does(func(ctx context.Context) error {
		if file != "" {
			more, err := readPrefixes(file, command.InOrStdin())
			if err != nil {
				return err
			}
			prefixes = append(prefixes, more...)
		}
		return change(ctx, prefixes)
	})(command, args)
}

// asked changes the bans of some prefixes. A file may have none, as that of a jail that banned nobody.
func asked(ctx context.Context, change func(context.Context, client.BanRequest) (client.BanChange, error), r client.BanRequest) (client.BanChange, error) {
	if len(r.Prefixes) == 0 {
		return client.BanChange{}, nil
	}
	return change(ctx, r)
}

// readPrefixes reads a line each; empty lines and what follows # are left out.
func readPrefixes(name string, stdin io.Reader) (list []netip.Prefix, err error) {
	source := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the prefixes: %w", err)
		}
		defer func() { _ = file.Close() }() // only read
		source = file
	}
	lines := bufio.NewScanner(source)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := model.ParseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		list = append(list, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the prefixes: %w", err)
	}
	return list, nil
}

func banReason(b client.Ban) string {
	switch {
	case b.Exempt == "":
		return b.Reason
	case b.Reason == "":
		return "exempt: " + b.Exempt
	}
	return b.Reason + "; exempt: " + b.Exempt
}

func newBanList(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List the bans in force",
		Long: `List the bans in force, in the order of their addresses. LEFT is until they end,
REASON who made them: somebody by hand, or a jail, and how often the address has
offended. A ban that is exempt drops nobody for as long as the reason for that
lasts, as that its address is on the allowlist.`,
		Example: "  realmgate ban list",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		bans, err := a.client().BanEditor().List(ctx)
		if err != nil {
			return err
		}
		slices.SortFunc(bans, func(x, y client.Ban) int { return x.Prefix.Compare(y.Prefix) })
		if output.value == "json" {
			return writeJSONArray(a.stdout, bans)
		}
		t := newTable("PREFIX", ">SINCE", ">LEFT", "REASON")
		for _, b := range bans {
			t.add(b.Prefix.String(), span(a.now().Sub(b.Since).Seconds()), leftOf(b, a.now()), banReason(b))
		}
		return t.write(a.stdout)
	})
	return command
}
