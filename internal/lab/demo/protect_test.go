package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Who is in a blocked country, scans or guesses is shut out, whom they name is not, and
// each is told in a line that fits a terminal.
func TestProtectShutsOutWhoAttacks(t *testing.T) {
	stdout, stderr, code := tell(t, "demo", "protect")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{
		`in AQ, AN: by country:AQ\n`, `drop_denied`, `SYNs to port 23, in ann's name\. Nobody is banned`,
		`Within [0-9.]+ ms it is banned: honeypot: tcp port 23`, `Invalid user x from 77\.0\.0\.1 port 22 from 77\.0\.0\.4 port`,
		`it is banned: jail ssh: 5 failures`, `\n\nAll 6 steps went as they should in [0-9.]+ seconds\.\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
	if n := strings.Count(stdout, "The gateway says why: "); n != 3 {
		t.Errorf("%d are shut out, want 3:\n%s", n, stdout)
	}
	for line := range strings.Lines(stdout) {
		if len(line) > 80 || strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("%d columns, or blanks at its end: %q", len(line)-1, line)
		}
	}
	nothingLeft(t)
}

// Each attack that goes on is noticed, at its step.
func TestAnAttackThatGoesOnFailsTheDemo(t *testing.T) {
	for _, c := range []struct {
		old, new string // in the configuration
		step     int
		says     string
	}{
		{"country:AQ", "country:SE", 2, "expected: no answer"},
		{"realm:", "ignoreip: [77.0.0.3]\nrealm:", 3, "the honeypot does not answer"},
		{"maxretry: 5", "maxretry: 3", 4, "who is banned\n"},
	} {
		var out bytes.Buffer
		err := RunProtect(t.Context(), ProtectOptions{Out: &out, JSON: true, Executable: program, change: func(text string) string {
			return strings.ReplaceAll(text, c.old, c.new)
		}})
		if !errors.Is(err, ErrFailed) {
			t.Errorf("%s: got the error %v", c.new, err)
		}
		var results []Result
		if err := json.Unmarshal(out.Bytes(), &results); err != nil {
			t.Fatalf("%s: no JSON: %v\n%s", c.new, err, out.String())
		}
		last := results[len(results)-1]
		if last.Step != c.step || last.OK || !strings.Contains(last.Error, c.says) || len(last.Log) == 0 {
			t.Errorf("%s: it ended with %+v, want step %d to say %q", c.new, last, c.step, c.says)
		}
		if slices.ContainsFunc(results[:len(results)-1], func(r Result) bool { return !r.OK || len(r.Seen) == 0 }) {
			t.Errorf("%s: before that %+v", c.new, results)
		}
		nothingLeft(t)
	}
}

func TestAnInterruptOfProtectCleansUp(t *testing.T) {
	for _, moment := range []string{"1. A service", "2. A country", "It tries the service", "4. Somebody guesses"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &trigger{text: moment, do: cancel}
		err := RunProtect(ctx, ProtectOptions{Out: out, Executable: program})
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.HasSuffix(out.written.String(), "Interrupted: cleaning up.\n") {
			t.Errorf("at %q: %v\n%s", moment, err, out.written.String())
		}
		nothingLeft(t)
	}
}
