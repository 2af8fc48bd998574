package config

import (
	"fmt"
	"strings"
	"testing"

	events "github.com/realmgate/realmgate/internal/events/settings"
)

func renderSinks(line func(string, ...any), sinks []events.Sink) {
	if len(sinks) == 0 {
		return
	}
	line("events:")
	for _, s := range sinks {
		to := fmt.Sprintf("command: %s", list(s.Command))
		switch {
		case s.File != "":
			to = fmt.Sprintf("file: %q", s.File)
		case s.Webhook != "":
			to = fmt.Sprintf("webhook: %q", s.Webhook)
		case s.Mail != nil:
			to = fmt.Sprintf("mail: {server: %q, tls: %s, from: %q, to: %s", s.Mail.Server, s.Mail.TLS, s.Mail.From, list(s.Mail.To))
			if s.Mail.User != "" {
				to += fmt.Sprintf(", user: %q, password_file: %q", s.Mail.User, s.Mail.PasswordFile)
			}
			to += "}"
		case s.Telegram != nil:
			to = fmt.Sprintf("telegram: {token_file: %q, chat: %q, server: %q}", s.Telegram.TokenFile, s.Telegram.Chat, s.Telegram.Server)
		}
		line("  - name: %q\n    %s", s.Name, to)
		if len(s.Kinds) > 0 {
			line("    kinds: %s", list(s.Kinds))
		}
	}
}

// Of sinks and of what their commands have there is at most so much.
func TestBoundsOfSinks(t *testing.T) {
	many := func(n int) (list string) {
		for i := range n {
			list += fmt.Sprintf("{name: s%d, file: /x}, ", i)
		}
		return list
	}
	least := "interfaces: {public: [eth0], private: [eth1]}\nrealm: {zones: [foo.example.], nameserver: ns.elsewhere.example.}\n" +
		"dns: {public: 198.18.0.1, private: 10.0.0.1}\npool: {addresses: [198.18.0.32]}\n"
	for sinks, want := range map[string]string{
		many(16): "",
		many(17): "events: there are 17, at most 16 are allowed",
		"{name: a, command: [/x" + strings.Repeat(", -v", 63) + "]}": "",
		"{name: a, command: [/x" + strings.Repeat(", -v", 64) + "]}": "events[0].command: there are 65 arguments, at most 64",
	} {
		_, err := Parse("x.yaml", []byte(least+"events: ["+sinks+"]\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", sinks, err, want)
		}
	}
}
