package settings

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// Telegram is a chat that a bot tells of events.
type Telegram struct {
	Token     string // of the bot, which is all that it takes to be it
	TokenFile string // that it is from
	Chat      string // its number, or @ and the name of a public one
	Server    string // URL of the Bot API, without a slash at its end
}

type telegramDraft struct {
	telegram       Telegram
	line, fileLine int
}

// telegramServer is the one that Telegram runs. Others may run their own.
const telegramServer = "https://api.telegram.org"

func (d *telegramDraft) key() schema.Key {
	d.telegram.Server = telegramServer
	return schema.Noting(&d.line, schema.Section("telegram",
		schema.OneAt("token_file", &d.telegram.TokenFile, &d.fileLine, schema.FileName()).Must(),
		schema.One("chat", &d.telegram.Chat, chat()).Must(),
		schema.One("server", &d.telegram.Server, botServer()),
	))
}

// botServer is a URL behind which the token stands in the path: nobody on the way may read it.
func botServer() schema.Kind[string] {
	k := schema.URL()
	k.Allowed = "https:// and a host; http:// at localhost"
	parse := k.Parse
	k.Parse = func(text string) (string, error) {
		text, err := parse(text)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return "", err
		case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			return "", errors.New("give a host, and at most a port and a path")
		case u.Scheme != "https" && !isLoopback(u.Hostname()):
			return "", errors.New("the token would be sent for all to read: use https://")
		}
		return text, nil
	}
	return k
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

var tokenForm = regexp.MustCompile(`^[0-9]+:[0-9A-Za-z_-]+$`)

// finish is nil where the file has no telegram.
func (d *telegramDraft) finish(faults *schema.Faults, path string) *Telegram {
	if d.line == 0 {
		return nil
	}
	d.telegram.Server = strings.TrimRight(d.telegram.Server, "/")
	if d.fileLine > 0 {
		d.telegram.Token = readSecret(faults, d.telegram.TokenFile, path+".token_file", d.fileLine)
		if d.telegram.Token != "" && !tokenForm.MatchString(d.telegram.Token) {
			faults.Add(d.fileLine, "%s.token_file: it has no token as BotFather gives them, 110201543:AAHd…", path)
		}
	}
	return &d.telegram
}

var chatForm = regexp.MustCompile(`^(-?[0-9]{1,19}|@[0-9A-Za-z_]{4,32})$`)

func chat() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: "a number, or @ and a public name", Want: "a chat: its number (-1001234567890), or @name in quotes", Tags: []string{"!!str", "!!int"},
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			if !chatForm.MatchString(text) {
				return "", errors.New("a bot finds a person or a group by the number alone")
			}
			return text, nil
		},
	}
}
