package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one fault of a configuration file.
type Error struct {
	File    string
	Line    int // from 1
	Message string
}

// Error returns "FILE:LINE: message", always one line.
func (e Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// Errors holds all faults found, in the order of their lines. It is never
// empty when returned as an error.
type Errors []Error

// Error returns one line per fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, fault := range e {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Bounds of what a broken file can make us print.
const (
	MaxErrors  = 100 // faults; one more says that there are others
	MaxMessage = 400 // bytes of one message
	maxQuote   = 60  // bytes of a quoted value
)

// Faults collects the errors of one file.
type Faults struct {
	File   string
	found  Errors
	hidden bool // more than MaxErrors were met
}

// Add notes a fault at line. Messages stay on one line whatever they quote.
func (f *Faults) Add(line int, format string, args ...any) {
	if len(f.found) >= MaxErrors {
		f.hidden = true
		return
	}
	message := clip(fmt.Sprintf(format, args...), MaxMessage)
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, message)
	f.found = append(f.found, Error{File: f.File, Line: max(line, 1), Message: message})
}

// Err returns what was found in line order, nil when nothing was.
func (f *Faults) Err() error {
	if len(f.found) == 0 {
		return nil
	}
	slices.SortStableFunc(f.found, func(a, b Error) int { return a.Line - b.Line })
	if f.hidden {
		last := f.found[len(f.found)-1].Line
		f.found = append(f.found, Error{f.File, last, fmt.Sprintf("more than %d errors: the rest is not shown", MaxErrors)})
	}
	return f.found
}

// Quote shows a value from the file, shortened.
func Quote(s string) string { return fmt.Sprintf("%q", clip(s, maxQuote)) }

// clip shortens s to about limit bytes, at the border of a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
