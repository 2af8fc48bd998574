package settings

import (
	"errors"
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
		schema.One("server", &d.telegram.Server, schema.URL()),
	))
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
