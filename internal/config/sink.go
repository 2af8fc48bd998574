package config

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/schema"
)

// mostSinks is how many sinks of events there may be.
const mostSinks = 16

// Sink is where events go: exactly one of File, Command and Webhook is given.
type Sink struct {
	Name    string       // unique
	File    string       // absolute path
	Command []string     // argument vector, whose first part is an absolute path
	Webhook string       // with http or https and a host
	Kinds   []event.Kind // each once; empty: all
}

type sinkDraft struct {
	sink                                         Sink
	command                                      []schema.At[string]
	kinds                                        []schema.At[event.Kind]
	nameLine, fileLine, commandLine, webhookLine int
}

func (s *sinkDraft) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &s.sink.Name, &s.nameLine, schema.Label()).Must(),
		noting(&s.fileLine, schema.One("file", &s.sink.File, absolutePath()).Otherwise("none")),
		noting(&s.commandLine, schema.Many("command", &s.command, argument(), 1)),
		noting(&s.webhookLine, schema.One("webhook", &s.sink.Webhook, webAddress()).Otherwise("none")),
		schema.Many("kinds", &s.kinds, schema.Choice(event.Kinds()...), 1).Otherwise("all"),
	}
}

// finishSinks checks what single keys do not show.
func (d *draft) finishSinks() {
	taken := takenNames{}
	for i, s := range d.sinks {
		path := fmt.Sprintf("events[%d]", i)
		taken.take(d.faults, path, s.sink.Name, s.nameLine)
		if i == mostSinks {
			d.faults.Add(s.nameLine, "events: there are %d, at most %d are allowed", len(d.sinks), mostSinks)
			break
		}
		d.config.Events = append(d.config.Events, s.finish(d.faults, path))
	}
}

func (s *sinkDraft) finish(faults *schema.Faults, path string) Sink {
	given := 0
	for _, line := range []int{s.fileLine, s.commandLine, s.webhookLine} {
		given += min(line, 1)
	}
	if given != 1 {
		faults.Add(s.nameLine, "%s: give one of file, command and webhook, not %d of them", path, given)
	}
	s.sink.Command = finishCommand(faults, path, s.command, s.commandLine)
	seen := map[event.Kind]bool{}
	for _, k := range s.kinds {
		if seen[k.Value] {
			faults.Add(k.Line, "%s.kinds: %s is there twice", path, k.Value)
		}
		seen[k.Value] = true
		s.sink.Kinds = append(s.sink.Kinds, k.Value)
	}
	return s.sink
}
