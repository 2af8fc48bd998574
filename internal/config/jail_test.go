package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Of everything about jails there is at most so much.
func TestJailsAreBounded(t *testing.T) {
	least, err := os.ReadFile("testdata/least.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	many := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("{name: w%d, file: /x, patterns: [sshd]}, ", i)
		}
		return text
	}
	for jails, want := range map[string]string{
		many(64): "",
		many(65): "jails: there are 65, at most 64 are allowed",
		"{name: a, patterns: [sshd], command: [/x" + strings.Repeat(", -v", 63) + "]}":                          "",
		"{name: a, patterns: [sshd], command: [/x" + strings.Repeat(", -v", 64) + "]}":                          "jails[0].command: there are 65 arguments, at most 64",
		"{name: a, patterns: ['" + strings.Repeat("x", 4097) + "'], file: /x}":                                  "jails[0].patterns: want a pattern",
		"{name: a, patterns: [sshd], file: /" + strings.Repeat("x", 4096) + "}":                                 "jails[0].file: want an absolute path",
		"{name: a, patterns: [sshd], command: [/x, \"a\\0b\"]}":                                                 "it has a NUL",
		"{name: a, patterns: [" + strings.Repeat("sshd, ", 16) + "], file: /x, findtime: 168h, bantime: 8760h}": "",
		"{name: a, patterns: [" + strings.Repeat("sshd, ", 17) + "], file: /x, findtime: 168h, bantime: 8760h}": "jails[0].patterns: there are 17",
		"{name: a, patterns: [sshd], file: /x, findtime: 168h1s}":                                               "jails[0].findtime",
		"{name: a, patterns: [sshd], file: /x, bantime: 8760h1s}":                                               "jails[0].bantime",
	} {
		_, err := Parse("x.yaml", []byte(string(least)+"\njails: ["+jails+"]\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", jails, err, want)
		}
	}
}
