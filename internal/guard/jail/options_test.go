package jail

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   string
		change func(*Options)
	}{
		{"", func(*Options) {}},
		{"", func(o *Options) { o.File, o.Command = "", []string{"/usr/bin/journalctl", "-f"} }},
		{"", func(o *Options) { o.MaxRetry, o.FindTime = settings.MostRetries, settings.LongestTime }},
		{"needs a name", func(o *Options) { o.Name = "" }},
		{"give a file or a command", func(o *Options) { o.File = "" }},
		{"not both", func(o *Options) { o.Command = []string{"/bin/true"} }},
		{"give an absolute path", func(o *Options) { o.File = "auth.log" }},
		{"no path has a NUL", func(o *Options) { o.File = "/a\x00b" }},
		{"no shell splits them", func(o *Options) { o.File, o.Command = "", []string{"journalctl -f"} }},
		{"no argument can have a NUL", func(o *Options) { o.File, o.Command = "", []string{"/bin/x", "\x00"} }},
		{"0 patterns", func(o *Options) { o.Patterns = nil }},
		{"17 patterns", func(o *Options) { o.Patterns = slices.Repeat([]string{"sshd"}, 17) }},
		{"none of the ready-made ones (dovecot, nginx-access, postfix, sshd, wordpress, wordpress-access)", func(o *Options) { o.Patterns = []string{"ssh"} }},
		{`pattern "<ADDRESS>": it must begin with ^`, func(o *Options) { o.Patterns = []string{"sshd", "<ADDRESS>"} }},
		{"maxretry 0", func(o *Options) { o.MaxRetry = 0 }},
		{"maxretry 1001", func(o *Options) { o.MaxRetry = settings.MostRetries + 1 }},
		{"findtime 0s", func(o *Options) { o.FindTime = 0 }},
		{"findtime 168h0m0.000000001s", func(o *Options) { o.FindTime = settings.LongestTime + time.Nanosecond }},
	} {
		o := Options{Name: "ssh", File: "/var/log/auth.log", Patterns: []string{"sshd"}, MaxRetry: 5, FindTime: time.Minute}
		c.change(&o)
		w, err := Compile(o)
		switch {
		case c.want == "" && (err != nil || w == nil):
			t.Errorf("%+v: %v", o, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", o, err, c.want)
		}
	}
}
