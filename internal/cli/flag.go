package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// The types below are flag values: each checks what it is given, so that a
// wrong one is told before anything begins.

var instanceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// instanceFlag is a name that can be part of a file's.
type instanceFlag string

func (f *instanceFlag) String() string { return string(*f) }
func (f *instanceFlag) Type() string   { return "name" }

func (f *instanceFlag) Set(s string) error {
	if !instanceName.MatchString(s) {
		return errors.New("use 1 to 32 letters, digits, hyphens and underscores")
	}
	*f = instanceFlag(s)
	return nil
}

// wordFlag is one of a few words.
type wordFlag struct {
	value string
	words []string
}

func (f *wordFlag) String() string { return f.value }
func (f *wordFlag) Type() string   { return "word" }

func (f *wordFlag) Set(s string) error {
	if !slices.Contains(f.words, s) {
		last := len(f.words) - 1
		return fmt.Errorf("use %s or %s", strings.Join(f.words[:last], ", "), f.words[last])
	}
	f.value = s
	return nil
}

// outputFlag adds -o to a command.
func outputFlag(command *cobra.Command) *wordFlag {
	f := &wordFlag{value: "table", words: []string{"table", "json"}}
	command.Flags().VarP(f, "output", "o", "`FORMAT` of the answer: table or json")
	return f
}

// filterFlag is one criterion of a filter.
type filterFlag struct {
	filter *client.Filter
	key    string
	text   string
}

func (f *filterFlag) String() string { return f.text }
func (f *filterFlag) Type() string   { return f.key }

func (f *filterFlag) Set(s string) error {
	f.text = s
	return f.filter.Set(f.key, s)
}

// filterFlags adds the filters of a listing to a command.
func filterFlags(command *cobra.Command) *client.Filter {
	filter := &client.Filter{}
	for _, f := range []struct{ key, usage string }{
		{"address", "only entries with this `ADDRESS`, private or public"},
		{"port", "only entries with this `PORT`, inside or outside"},
		{"protocol", "only entries of this `PROTOCOL`: tcp, udp, icmp, gre, esp and others, or any"},
		{"host", "only entries of this host or service, by its `NAME`"},
	} {
		command.Flags().Var(&filterFlag{filter: filter, key: f.key}, f.key, f.usage)
	}
	return filter
}

// countFlag is how many, 0 for no end.
type countFlag uint64

func (f *countFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }
func (f *countFlag) Type() string   { return "count" }

func (f *countFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("use a whole number, or 0 for no end")
	}
	*f = countFlag(n)
	return nil
}

// snapFlag is how much of a packet is kept, in bytes.
type snapFlag int

func (f *snapFlag) String() string { return strconv.Itoa(int(*f)) }
func (f *snapFlag) Type() string   { return "bytes" }

func (f *snapFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > client.MostSnap {
		return fmt.Errorf("use 1 to %d bytes", client.MostSnap)
	}
	*f = snapFlag(n)
	return nil
}

// configFlag adds -c to a command. The command calls want before it begins.
type configFlag string

func (f *configFlag) add(command *cobra.Command) {
	command.Flags().StringVarP((*string)(f), "config", "c", "", "configuration `FILE` (required)")
}

func (f *configFlag) want() error {
	if *f == "" {
		return usageError("give the configuration file with -c FILE")
	}
	return nil
}

// takes wants arguments, and says what they are where they are not there.
func takes(what ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		switch {
		case len(args) < len(what):
			return usageError("give " + what[len(args)])
		case len(args) > len(what):
			return usageError(fmt.Sprintf("%s takes no argument after that, and got %q", command.CommandPath(), args[len(what)]))
		}
		return nil
	}
}
