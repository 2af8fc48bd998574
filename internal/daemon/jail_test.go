package daemon

import (
	"strings"
	"testing"
)

// What the configuration lets through is a jail, up to each bound; what a pattern may be
// is found out before anything changes.
func TestJailsAreCompiledBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	for watched, want := range map[string]string{
		"{name: a, file: /x, patterns: [sshd], maxretry: 1, findtime: 1s, bantime: 1s}": "",
		"{name: a, command: [/x, 1], patterns: [sshd], maxretry: 1000, findtime: 168h}": "",
		"{name: a, file: /x, patterns: [" + strings.Repeat("sshd, ", 15) + "postfix]}":  "",
		"{name: ssh, file: /x, patterns: [sshx]}":                                       "jails: ssh: pattern",
		"{name: ssh, file: /x, patterns: ['from <ADDRESS>']}":                           "jails: ssh: pattern",
		"{name: ssh, file: /x, patterns: [sshd, '^(<ADDRESS>']}":                        "jails: ssh: pattern",
	} {
		d := document(t, text+"jails: ["+watched+"]\n")
		_, reloadErr := guardServices{newDaemon(Options{})}.prepareJails(&draft{view: &view{config: d.Config}, wanted: wanted{read: true}})
		for by, err := range map[string]error{"check": Check(d), "reload": reloadErr} {
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("%s of %s: %v, want %q", by, watched, err, want)
			}
		}
	}
}
