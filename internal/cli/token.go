package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// tokenTime is how long a token holds unless it is said.
const tokenTime = 90 * 24 * time.Hour

func newToken(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Let programs ask over TCP",
		Long: `Make, list and revoke tokens. Who has the secret of one may ask the control API,
at the addresses of api.listen, for what its role may.`,
		Example: `  realmgate token create prometheus --role read
  realmgate token list`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newTokenCreate(a), newTokenList(a), newTokenRevoke(a))
	return command
}

func newTokenCreate(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print its secret",
		Long: `Make a token, and print its secret on standard output. The gateway keeps only a hash
of it: nobody can print it again.`,
		Example: `  realmgate token create prometheus --role read --for 90d > /etc/prometheus/realmgate.token
  realmgate token create ann --role operate --for 12h`,
		Args: takes("a name for the token"),
	}
	lasts := lasting(tokenTime)
	var role client.Role
	command.Flags().Var((*roleFlag)(&role), "role", "what it may, as a `ROLE`: read, operate or admin")
	command.Flags().Var(&lasts, "for", "how long, as a `DURATION`: 24h or 90d")
	_ = command.MarkFlagRequired("role") // it is there
	command.RunE = func(command *cobra.Command, args []string) error {
		return does(func(ctx context.Context) error {
			made, err := a.client().TokenEditor().Create(ctx, client.TokenRequest{Name: args[0], Role: role, Seconds: time.Duration(lasts).Seconds()})
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(a.stderr, "token %s (%s) holds until %s; its secret cannot be shown again:\n",
				made.Name, made.Role, made.Expires.In(a.zone).Format(time.DateOnly))
			_, err = fmt.Fprintln(a.stdout, made.Secret)
			return written(err)
		})(command, args)
	}
	return command
}

// roleFlag is a role.
type roleFlag client.Role

// String implements pflag.Value.
func (r *roleFlag) String() string {
	if *r == 0 {
		return ""
	}
	return client.Role(*r).String()
}

// Type implements pflag.Value.
func (r *roleFlag) Type() string { return "role" }

// Set implements pflag.Value.
func (r *roleFlag) Set(text string) error { return (*client.Role)(r).UnmarshalText([]byte(text)) }

func newTokenList(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens",
		Long:    `List the tokens: what they may, until when, and when they were last used.`,
		Example: `  realmgate token list`,
		Args:    cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		tokens, err := a.client().TokenEditor().List(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, tokens)
		}
		t := newTable("NAME", "ROLE", "EXPIRES", "USED")
		for _, token := range tokens {
			t.add(token.Name, token.Role.String(), expires(token.Expires, a.now()), a.cell(token.Used))
		}
		return t.write(a.stdout)
	})
	return command
}

// expires says in how long.
func expires(at, now time.Time) string {
	if left := at.Sub(now); left > 0 {
		return "in " + span(left.Seconds())
	}
	return "expired"
}

func newTokenRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a token",
		Long:    `End a token at once, and what is asked by it at the time.`,
		Example: `  realmgate token revoke prometheus`,
		Args:    takes("the name of a token"),
		RunE: func(command *cobra.Command, args []string) error {
			return does(func(ctx context.Context) error {
				gone, err := a.client().TokenEditor().Revoke(ctx, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "token %s (%s) is revoked\n", gone.Name, gone.Role)
				return written(err)
			})(command, args)
		},
	}
}
