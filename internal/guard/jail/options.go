package jail

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

// Options say what is watched, and what is an offence.
type Options struct {
	Name string // of the jail, as offences carry it
	// File is the absolute path of a log, or Command an argument vector whose first part is
	// the absolute path of a program. One of them is given.
	File    string
	Command []string
	// Patterns are names of ready-made patterns (see ReadyMade) and regular expressions (RE2)
	// with one Placeholder. A line that several describe is one failure.
	Patterns []string
	// An address, or a /64 of IPv6, offends with so many failures, MaxRetry (1 to settings.MostRetries) of which the
	// first and the last are no more than FindTime apart (1 ns to settings.LongestTime).
	MaxRetry int
	FindTime time.Duration
}

func (o *Options) check() error {
	switch {
	case o.Name == "":
		return errors.New("a jail needs a name")
	case o.File == "" && len(o.Command) == 0:
		return errors.New("give a file or a command to follow")
	case o.File != "" && len(o.Command) > 0:
		return errors.New("give a file or a command to follow, not both")
	case o.File != "" && !filepath.IsAbs(o.File):
		return fmt.Errorf("file %q: give an absolute path", o.File)
	case strings.ContainsRune(o.File, 0):
		return fmt.Errorf("file %q: no path has a NUL", o.File)
	case len(o.Command) > 0 && !filepath.IsAbs(o.Command[0]):
		return fmt.Errorf("command %q: give the program's absolute path, and each argument apart: no shell splits them", o.Command[0])
	case slices.ContainsFunc(o.Command, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return fmt.Errorf("command %q: no argument can have a NUL", o.Command)
	case len(o.Patterns) == 0 || len(o.Patterns) > settings.MostPatterns:
		return fmt.Errorf("%d patterns: give 1 to %d", len(o.Patterns), settings.MostPatterns)
	case o.MaxRetry < 1 || o.MaxRetry > settings.MostRetries:
		return fmt.Errorf("maxretry %d: give 1 to %d", o.MaxRetry, settings.MostRetries)
	case o.FindTime <= 0 || o.FindTime > settings.LongestTime:
		return fmt.Errorf("findtime %v: give more than 0s, at most %v", o.FindTime, settings.LongestTime)
	}
	return nil
}
