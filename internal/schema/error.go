package schema

import (
	"fmt"
	"io"
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

// fileLines is more lines than a file has.
const fileLines = 1 << 40

// Faults collects the errors of a configuration.
type Faults struct {
	File   string
	More   []string // further files: where there are any, all lines have their file's Shift added
	found  Errors
	hidden bool // more than MaxErrors were met
}

// Shift is what the lines of the i-th of the files, from 0, are told by from those of others.
func (f *Faults) Shift(i int) int {
	if len(f.More) == 0 {
		return 0
	}
	return (i + 1) * fileLines
}

// place is the file of a line, and which it is there.
func (f *Faults) place(line int) (file string, local int) {
	if i := line / fileLines; i > 1 {
		return f.More[i-2], line % fileLines
	}
	return f.File, line % fileLines
}

// elsewhere is a line of another file, "3 of FILE" for people.
type elsewhere string

// Format implements fmt.Formatter: it is for the verb of a number.
func (e elsewhere) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, string(e)) }

// Sprintf is fmt.Sprintf for the message of a fault at line, which names other lines: those of other files with their files.
func (f *Faults) Sprintf(line int, format string, args ...any) string {
	args = slices.Clone(args)
	for i, arg := range args {
		switch a := arg.(type) {
		case Use:
			args[i] = f.Sprintf(line, "%s at line %d", a.Key, a.Line)
		case int:
			switch file, local := f.place(a); {
			case a < fileLines: // no line, or there is one file
			case a/fileLines == line/fileLines:
				args[i] = local
			default:
				args[i] = elsewhere(fmt.Sprintf("%d of %s", local, file))
			}
		}
	}
	return fmt.Sprintf(format, args...)
}

// Add notes a fault at line. Messages stay on one line whatever they quote.
func (f *Faults) Add(line int, format string, args ...any) {
	if len(f.found) >= MaxErrors {
		f.hidden = true
		return
	}
	message := clip(f.Sprintf(line, format, args...), MaxMessage)
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, message)
	f.found = append(f.found, Error{Line: max(line, 1), Message: message})
}

// Err returns what was found in line order, nil when nothing was.
func (f *Faults) Err() error {
	if len(f.found) == 0 {
		return nil
	}
	found := slices.Clone(f.found)
	slices.SortStableFunc(found, func(a, b Error) int { return a.Line - b.Line })
	if f.hidden {
		last := found[len(found)-1].Line
		found = append(found, Error{Line: last, Message: fmt.Sprintf("more than %d errors: the rest is not shown", MaxErrors)})
	}
	for i, e := range found {
		found[i].File, found[i].Line = f.place(e.Line)
	}
	return found
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
