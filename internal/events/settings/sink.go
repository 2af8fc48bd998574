package settings

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/schema"
)

// mostSinks is how many sinks of events there may be.
const mostSinks = 16

// Sink is where events go: exactly one of File, Command, Webhook, Mail and Telegram is given.
type Sink struct {
	Name    string       // unique
	File    string       // absolute path
	Command []string     // argument vector, whose first part is an absolute path
	Webhook string       // with http or https and a host
	Kinds   []event.Kind // each once; empty: all

	Mail     *Mail
	Telegram *Telegram
}

type entry struct {
	schema.Begun
	sink                                         Sink
	command                                      []schema.At[string]
	kinds                                        []schema.At[event.Kind]
	mail                                         mailDraft
	telegram                                     telegramDraft
	nameLine, fileLine, commandLine, webhookLine int
}

func (d *entry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &d.sink.Name, &d.nameLine, schema.Label()).Must(),
		schema.Noting(&d.fileLine, schema.One("file", &d.sink.File, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&d.commandLine, schema.Many("command", &d.command, schema.Argument(), 1)),
		schema.Noting(&d.webhookLine, schema.One("webhook", &d.sink.Webhook, schema.URL()).Otherwise("none")),
		d.mail.key(),
		d.telegram.key(),
		schema.Many("kinds", &d.kinds, kinds(), 1).Otherwise("all"),
	}
}

// Draft is `events`.
type Draft struct {
	sinks   *[]Sink
	entries []*entry
}

// New makes a draft whose values go to sinks.
func New(sinks *[]Sink) *Draft { return &Draft{sinks: sinks} }

// Keys implements schema.Draft.
func (s *Draft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("events", &s.entries, (*entry).keys).Most(mostSinks)}
}

// Finish implements schema.Draft.
func (s *Draft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	for i, d := range s.entries {
		path := fmt.Sprintf("events[%d]", i)
		taken.Take(faults, path, d.sink.Name, d.nameLine)
		*s.sinks = append(*s.sinks, d.finish(faults, path))
	}
}

func (d *entry) finish(faults *schema.Faults, path string) Sink {
	given := 0
	for _, line := range []int{d.fileLine, d.commandLine, d.webhookLine, d.mail.line, d.telegram.line} {
		given += min(line, 1)
	}
	if d.Line > 0 && given != 1 {
		faults.Add(d.Line, "%s: give one of file, command, webhook, mail and telegram, not %d of them", path, given)
	}
	d.sink.Command = schema.Command(faults, path+".command", d.command, d.commandLine)
	d.sink.Mail, d.sink.Telegram = d.mail.finish(faults, path+".mail"), d.telegram.finish(faults, path+".telegram")
	seen := map[event.Kind]bool{}
	for _, k := range d.kinds {
		if seen[k.Value] {
			faults.Add(k.Line, "%s.kinds: %s is there twice", path, k.Value)
		}
		seen[k.Value] = true
		d.sink.Kinds = append(d.sink.Kinds, k.Value)
	}
	return d.sink
}

// kinds is one of them: there are too many for a cell of the reference, which has a heading for each.
func kinds() schema.Kind[event.Kind] {
	k := schema.Choice(event.Kinds()...)
	k.Allowed = "a kind of event"
	return k
}
