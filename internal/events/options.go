package events

import (
	"net/url"
	"slices"

	"github.com/realmgate/realmgate/internal/events/event"
)

// Options is where events go: one of File, Command and Webhook.
type Options struct {
	Name    string       // unique
	File    string       // absolute path
	Command []string     // argument vector, whose first part is an absolute path
	Webhook string       // URL of http or https
	Kinds   []event.Kind // empty: all
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
	default:
		return &command{argv: o.Command, stall: stallTime}
	}
}
