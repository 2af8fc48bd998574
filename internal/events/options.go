package events

import (
	"net/url"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/events/settings"
)

// Options is where events go: one of File, Command, Webhook, Mail and Telegram.
type Options struct {
	Name    string       // unique
	File    string       // absolute path
	Command []string     // argument vector, whose first part is an absolute path
	Webhook string       // URL of http or https
	Kinds   []event.Kind // empty: all

	Mail     *settings.Mail
	Telegram *settings.Telegram
}

// pace is how much an outlet gets at once, in events and octets, and how long it then has peace. People get all that waits, and
// are not told at the pace of attackers.
func (o *Options) pace() (events, octets int, pause time.Duration) {
	switch {
	case o.Mail != nil:
		return queueRoom, mostDigested, mailPause
	case o.Telegram != nil:
		return queueRoom, mostDigested, telegramPause
	}
	return batch, batchBytes, 0
}

// wants reports whether the sink is told of a kind.
func (o *Options) wants(k event.Kind) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, k)
}

// Host is the scheme and the host of the webhook, of which the rest may be secret.
func (o *Options) Host() string {
	u, err := url.Parse(o.Webhook)
	if err != nil || o.Webhook == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (o *Options) outlet() outlet {
	switch {
	case o.File != "":
		return &file{path: o.File}
	case o.Webhook != "":
		return newWebhook(o.Webhook)
	case o.Mail != nil:
		return newMail(*o.Mail)
	case o.Telegram != nil:
		return newTelegram(*o.Telegram)
	default:
		return &command{argv: o.Command, stall: stallTime}
	}
}
