package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Result is a step as machines read it.
type Result struct {
	Step    int            `json:"step"`
	What    string         `json:"what"`
	OK      bool           `json:"ok"`
	Seen    map[string]any `json:"seen"`
	Error   string         `json:"error,omitempty"`
	Log     []string       `json:"log,omitempty"` // the end of the gateway's, after a failure
	Seconds float64        `json:"seconds"`
}

// teller writes the story, as text at once or as JSON at the end.
type teller struct {
	out          io.Writer
	about        string
	json, colour bool
	began        time.Time
	stepBegan    time.Time
	results      []Result
	failed       error // of the first write
}

// newTeller takes in a few words what it is that is told.
func newTeller(o Options, about string) *teller {
	return &teller{out: o.Out, about: about, json: o.JSON, colour: o.Colour, began: time.Now()}
}

// The colours, as terminals know them.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

func (t *teller) paint(colour, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// print writes text for people, and nothing with JSON.
func (t *teller) print(text string) {
	if t.json || t.failed != nil {
		return
	}
	_, t.failed = io.WriteString(t.out, text)
}

func (t *teller) head() {
	t.print(t.paint(bold, "Realmgate: "+t.about) + "\n\n" +
		"All of this happens now, in small networks inside this machine.\n" +
		"Each line with a time, in seconds, tells what was seen at that moment.\n")
}

func (t *teller) begin(what string) {
	t.stepBegan = time.Now()
	t.results = append(t.results, Result{Step: len(t.results) + 1, What: what, Seen: map[string]any{}})
	t.print(fmt.Sprintf("\n%s\n", t.paint(bold, fmt.Sprintf("%d. %s", len(t.results), what))))
}

// say tells what was just observed.
func (t *teller) say(format string, args ...any) {
	at := fmt.Sprintf("%6.2f  ", time.Since(t.began).Seconds())
	t.print(t.paint(dim, at) + fmt.Sprintf(format, args...) + "\n")
}

// note explains: it claims nothing that was not said before.
func (t *teller) note(lines ...string) {
	for _, line := range lines {
		t.print(strings.TrimRight("        "+line, " ") + "\n")
	}
}

// see records an observation for machines.
func (t *teller) see(key string, value any) { t.results[len(t.results)-1].Seen[key] = value }

// end ends a step.
func (t *teller) end(err error, log []string) {
	result := &t.results[len(t.results)-1]
	result.OK, result.Seconds = err == nil, time.Since(t.stepBegan).Seconds()
	if err == nil {
		return
	}
	result.Error, result.Log = err.Error(), log
	if errors.Is(err, context.Canceled) {
		result.Error = "interrupted"
		t.print("\nInterrupted: cleaning up.\n")
		return
	}
	t.print("\n" + t.paint(red, "FAILED: ") + strings.ReplaceAll(err.Error(), "\n", "\n  ") + "\n")
	if len(log) > 0 {
		t.print("  The gateway's log ends:\n")
	}
	for _, line := range log {
		t.print("  | " + line + "\n")
	}
}

// conclude tells how the story went, and the cleaning up after it. It returns
// what failed.
func (t *teller) conclude(failed, cleaning error) error {
	last := len(t.results)
	if cleaning != nil {
		cleaning = fmt.Errorf("clean up: %w", cleaning)
		t.print("\n" + t.paint(red, "FAILED: ") + cleaning.Error() + "\n")
		failed = errors.Join(failed, cleaning)
		t.results[last-1].OK, t.results[last-1].Error = false, failed.Error()
	}
	if failed == nil {
		t.print(fmt.Sprintf("\n%s in %.1f seconds.\n", t.paint(green, fmt.Sprintf("All %d steps went as they should", last)),
			time.Since(t.began).Seconds()))
	}
	return failed
}

// finish writes what is for machines, and returns what Run does.
func (t *teller) finish(failed error) error {
	last := len(t.results)
	if t.json {
		encoder := json.NewEncoder(t.out)
		encoder.SetIndent("", "  ")
		t.failed = encoder.Encode(t.results)
	}
	switch {
	case errors.Is(failed, context.Canceled):
		return failed
	case failed != nil:
		first, _, _ := strings.Cut(failed.Error(), "\n")
		return fmt.Errorf("%w at step %d: %s", ErrFailed, last, first)
	case t.failed != nil:
		return fmt.Errorf("%w: its output cannot be written: %w", ErrFailed, t.failed)
	}
	return nil
}
