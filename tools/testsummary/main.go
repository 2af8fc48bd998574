package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// event is what go test -json writes (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a build event, which has no Package
	Elapsed                       float64
}

// test names a test; an empty name stands for its package as a whole.
type test struct{ pkg, name string }

// tally is what has been seen so far.
type tally struct {
	passed, failed, skipped int
	broken                  int // packages that failed without a failing test: builds, panics, timeouts
	output                  map[test]*strings.Builder
	perPackage              map[string]int // tests run
	failedIn                map[string]bool
	skips                   []string
	logs                    bool     // tell what passed tests logged
	failures                []string // package and test; of a broken package its name alone
}

func main() {
	failures := flag.String("failed", "", "`file` that gets a line of package and test for each that failed, of the package alone where it broke")
	logs := flag.Bool("logs", false, "tell what passed tests logged, too")
	flag.Parse()
	code, failed := run(os.Stdin, os.Stdout, os.Getenv("CI") != "", *logs)
	if *failures != "" {
		if err := os.WriteFile(*failures, []byte(strings.Join(failed, "")), 0o600); err != nil {
			fmt.Fprintf(os.Stderr, "testsummary: writing what failed: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// run summarises in to out and returns the exit code, and what failed.
func run(in io.Reader, out io.Writer, ci, logs bool) (int, []string) {
	t := tally{output: map[test]*strings.Builder{}, perPackage: map[string]int{}, failedIn: map[string]bool{}, logs: logs}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(out, scanner.Text()) // not an event: go's own words
			continue
		}
		t.add(e, out)
	}
	code := 0
	if err := scanner.Err(); err != nil {
		fmt.Fprintf(out, "testsummary: reading the tests' output: %v\n", err)
		code = 1
	}
	for _, skip := range t.skips {
		fmt.Fprintf(out, "skipped: %s\n", skip)
	}
	switch {
	case t.failed+t.broken > 0:
		code = 1
	case ci && t.skipped > 0:
		fmt.Fprintln(out, "testsummary: CI allows no skipped tests")
		code = 1
	case t.passed == 0:
		fmt.Fprintln(out, "testsummary: no test ran")
		code = 1
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed+t.broken, t.skipped)
	return code, t.failures
}

func (t *tally) add(e event, out io.Writer) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if e.Action == "build-output" {
			key = test{pkg: e.ImportPath}
		}
		if t.output[key] == nil {
			t.output[key] = &strings.Builder{}
		}
		t.output[key].WriteString(e.Output)
	case "build-fail":
		fmt.Fprint(out, t.said(test{pkg: e.ImportPath}))
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e, out)
		} else {
			t.endTest(e, out)
		}
		delete(t.output, key)
	}
}

// endTest counts top-level tests; subtests only lend their output.
func (t *tally) endTest(e event, out io.Writer) {
	said := t.said(test{e.Package, e.Test})
	top := !strings.Contains(e.Test, "/")
	if top {
		t.perPackage[e.Package]++
	}
	switch e.Action {
	case "fail":
		fmt.Fprint(out, said)
		t.failedIn[e.Package] = true
		if top {
			t.failed++
			t.failures = append(t.failures, e.Package+" "+e.Test+"\n")
		}
	case "skip":
		reason := why(said)
		if !strings.Contains(reason, lengthy) {
			t.skipped++
		}
		t.skips = append(t.skips, fmt.Sprintf("%s %s: %s", e.Package, e.Test, reason))
	case "pass":
		if t.logs {
			fmt.Fprint(out, said)
		}
		if top {
			t.passed++
		}
	}
}

// endPackage prints a package's line; a package may come again, in another run.
func (t *tally) endPackage(e event, out io.Writer) {
	defer delete(t.perPackage, e.Package)
	defer delete(t.failedIn, e.Package)
	elapsed := time.Duration(e.Elapsed * float64(time.Second)).Round(100 * time.Millisecond)
	switch {
	case e.Action == "fail":
		if !t.failedIn[e.Package] {
			t.broken++
			t.failures = append(t.failures, e.Package+"\n")
			for key := range t.output { // a panic or a timeout leaves tests without an end
				if key.pkg == e.Package && key.name != "" {
					fmt.Fprint(out, t.said(key))
				}
			}
		}
		fmt.Fprint(out, t.said(test{pkg: e.Package}))
		fmt.Fprintf(out, "FAIL  %s (%d tests, %s)\n", e.Package, t.perPackage[e.Package], elapsed)
	case t.perPackage[e.Package] > 0:
		fmt.Fprintf(out, "ok    %s (%d tests, %s)\n", e.Package, t.perPackage[e.Package], elapsed)
	default: // its TestMain may have run none
		if _, reason, ok := strings.Cut(t.said(test{pkg: e.Package}), "skipped: "); ok {
			t.skipped++
			t.skips = append(t.skips, fmt.Sprintf("%s: %s", e.Package, why(reason)))
		}
	}
}

func (t *tally) said(key test) string {
	if b := t.output[key]; b != nil {
		return b.String()
	}
	return ""
}

// lengthy marks the reason of a test that takes too long for every run, which says how to run it: it is listed, and
// not counted among the skipped.
const lengthy = "lengthy: "

// why picks the reason out of a skipped test's output.
func why(said string) string {
	for line := range strings.SplitSeq(said, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return "no reason given"
}
