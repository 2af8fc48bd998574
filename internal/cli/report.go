package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// The exit codes.
const (
	exitOK = iota
	exitError
	exitUsage
)

// runError is an error of a command that had begun. All others are of the
// command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// usageError is a fault of the command line that only the command itself sees.
type usageError string

func (e usageError) Error() string { return string(e) }

// report tells what went wrong and returns the exit code.
func (a *app) report(command *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	var usage usageError
	if begun := (runError{}); !errors.As(err, &begun) || errors.As(err, &usage) {
		a.complain("%s (see: %s --help)", explain(command, err), command.CommandPath())
		return exitUsage
	}
	if told := (unwellError{}); errors.As(err, &told) {
		return told.code
	}
	var faults schema.Errors
	var refused *client.Error
	switch {
	case errors.Is(err, errDiffers):
	case errors.As(err, &faults):
		// As they are, so that editors find file and line.
		_, _ = fmt.Fprintln(a.stderr, faults)
	case errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity:
		switch parent := command.Parent().Name(); {
		case command.Name() == "reload", parent == "chain":
			_, _ = fmt.Fprintln(a.stderr, refused)
			a.complain("nothing was changed: the gateway goes on with the configuration that it has")
		case parent == "config": // which changes nothing anyway
			_, _ = fmt.Fprintln(a.stderr, refused)
		default: // no configuration is at fault
			a.complain("%s", refused)
		}
	case errors.Is(err, context.Canceled):
		a.complain("interrupted")
	default:
		a.complain("%s", err)
	}
	return exitError
}

// complain writes one line to standard error. There is nobody to tell if that
// fails.
func (a *app) complain(format string, args ...any) {
	_, _ = fmt.Fprintln(a.stderr, "realmgate: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// didYouMean ends a complaint about a word with those of the names that are near it.
func didYouMean(word string, names []string) string {
	near := model.Near(word, names)
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}

// explain makes cobra's errors one line that says what to do.
func explain(command *cobra.Command, err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if !strings.HasPrefix(text, "unknown command ") {
		return text
	}
	_, word, _ := strings.Cut(text, `"`)
	word, _, _ = strings.Cut(word, `"`)
	if command.HasParent() && !command.HasSubCommands() {
		return fmt.Sprintf("%s takes no argument, and got %q", command.CommandPath(), word)
	}
	var names []string
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Sprintf("unknown command %q", word) + didYouMean(word, names)
}
