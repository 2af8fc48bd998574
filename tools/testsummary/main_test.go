package main

import (
	"bytes"
	"strings"
	"testing"
)

const (
	passing = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet words\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"pass","Package":"p","Elapsed":0.25}
`
	failing = `{"Action":"output","Package":"q","Test":"TestB","Output":"    q_test.go:7: broken thing\n"}
{"Action":"fail","Package":"q","Test":"TestB/sub"}
{"Action":"fail","Package":"q","Test":"TestB"}
{"Action":"fail","Package":"q","Elapsed":1}
`
	skipping = `{"Action":"output","Package":"r","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"r","Test":"TestC","Output":"    r_test.go:3: needs root\n"}
{"Action":"skip","Package":"r","Test":"TestC"}
{"Action":"pass","Package":"r"}
`
	building = `{"ImportPath":"s","Action":"build-output","Output":"s.go:1: undefined: x\n"}
{"ImportPath":"s","Action":"build-fail"}
{"Action":"fail","Package":"s","FailedBuild":"s"}
`
	unable = `{"Action":"output","Package":"v","Output":"skipped: v needs unbound\n"}
{"Action":"output","Package":"v","Output":"ok  \tv\t0.01s\n"}
{"Action":"pass","Package":"v"}
`
	panicking = `{"Action":"output","Package":"u","Test":"TestD","Output":"panic: oh\n"}
{"Action":"fail","Package":"u","Elapsed":1}
`
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, in string
		ci       bool
		code     int
		want     []string
		avoid    string
		failed   string
	}{
		{"pass", passing, true, 0, []string{"ok    p (1 tests, 300ms)", "\n1 passed, 0 failed, 0 skipped\n"}, "quiet words", ""},
		{"fail", passing + failing, false, 1, []string{"broken thing", "FAIL  q", "1 passed, 1 failed, 0 skipped"}, "", "q TestB\n"},
		{"skip on a desk", passing + skipping, false, 0, []string{"skipped: r TestC: r_test.go:3: needs root", "1 passed, 0 failed, 1 skipped"}, "CI allows", ""},
		{"skip in CI", passing + skipping, true, 1, []string{"CI allows no skipped tests"}, "", ""},
		{"lengthy in CI", passing + strings.Replace(skipping, "needs root", "lengthy: not here", 1), true, 0, []string{"skipped: r TestC: r_test.go:3: lengthy", "1 passed, 0 failed, 0 skipped"}, "CI allows", ""},
		{"whole package skipped", passing + unable, false, 0, []string{"skipped: v: v needs unbound\n", "1 passed, 0 failed, 1 skipped"}, "", ""},
		{"whole package skipped in CI", passing + unable, true, 1, []string{"CI allows no skipped tests"}, "", ""},
		{"build", passing + building, false, 1, []string{"undefined: x", "FAIL  s", "1 passed, 1 failed"}, "", "s\n"},
		{"panic", passing + panicking, false, 1, []string{"panic: oh", "FAIL  u"}, "", "u\n"},
		{"nothing", "", false, 1, []string{"no test ran"}, "", ""},
		{"words", "go: cannot find module\n" + passing, false, 0, []string{"go: cannot find module\n"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			code, failed := run(strings.NewReader(c.in), &out, c.ci, false)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := strings.Join(failed, ""); got != c.failed {
				t.Errorf("failed is %q, want %q", got, c.failed)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output does not say %q:\n%s", want, out.String())
				}
			}
			if c.avoid != "" && strings.Contains(out.String(), c.avoid) {
				t.Errorf("output says %q:\n%s", c.avoid, out.String())
			}
		})
	}
}

func TestLogsOfPassedTests(t *testing.T) {
	var out bytes.Buffer
	run(strings.NewReader(passing), &out, true, true)
	if !strings.Contains(out.String(), "quiet words\n") {
		t.Errorf("output does not say what the test logged:\n%s", out.String())
	}
}
