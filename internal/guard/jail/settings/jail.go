package settings

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Bounds of jails.
const (
	mostJails    = 64
	MostPatterns = 16
	MostRetries  = 1000
	LongestTime  = 7 * 24 * time.Hour // in which failures are counted
)

// Jail is a log, and what in it has an address banned. What a pattern may be is the
// gateway's to check.
type Jail struct {
	Name     string   // unique
	File     string   // absolute path of a log; empty: Command
	Command  []string // argument vector, whose first part is an absolute path
	Patterns []string // 1 to MostPatterns
	MaxRetry int      // 1 to MostRetries
	FindTime time.Duration
	BanTime  time.Duration
}

type entry struct {
	schema.Begun
	jail                            Jail
	command, patterns               []schema.At[string]
	nameLine, fileLine, commandLine int
}

func (w *entry) keys() []schema.Key {
	w.jail.MaxRetry, w.jail.FindTime, w.jail.BanTime = 5, 10*time.Minute, time.Hour
	return []schema.Key{
		schema.OneAt("name", &w.jail.Name, &w.nameLine, schema.Label()).Must(),
		schema.Noting(&w.fileLine, schema.One("file", &w.jail.File, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&w.commandLine, schema.Many("command", &w.command, schema.Argument(), 1)),
		schema.Many("patterns", &w.patterns, logPattern(), 1).Most(MostPatterns).Must(),
		schema.One("maxretry", &w.jail.MaxRetry, schema.Number(1, MostRetries)),
		schema.One("findtime", &w.jail.FindTime, schema.Duration(time.Second, LongestTime)),
		schema.One("bantime", &w.jail.BanTime, schema.Duration(time.Second, model.LongestBan)),
	}
}

func logPattern() schema.Kind[string] {
	return schema.Text("pattern", "ready-made, or with `<ADDRESS>`", "a pattern")
}

// Draft is `jails`.
type Draft struct {
	jails   *[]Jail
	entries []*entry
}

// New makes a draft whose values go to jails.
func New(jails *[]Jail) *Draft { return &Draft{jails: jails} }

// Keys implements schema.Draft.
func (s *Draft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("jails", &s.entries, (*entry).keys).Most(mostJails)}
}

// Finish implements schema.Draft.
func (s *Draft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	for i, w := range s.entries {
		path := fmt.Sprintf("jails[%d]", i)
		taken.Take(faults, path, w.jail.Name, w.nameLine)
		*s.jails = append(*s.jails, w.finish(faults, path))
	}
}

func (w *entry) finish(faults *schema.Faults, path string) Jail {
	w.jail.Command = schema.Command(faults, path+".command", w.command, w.commandLine)
	w.jail.Patterns = schema.Values(w.patterns)
	if w.Either(faults, path, "file or command", w.fileLine, w.commandLine) && strings.ContainsAny(w.jail.File, "*?") {
		faults.Add(w.fileLine, "%s.file: %s: give one file, and each a jail of its own: * and ? stand for themselves", path, schema.Quote(w.jail.File))
	}
	return w.jail
}

// Bans are for how long each bans.
func (s *Draft) Bans() iter.Seq2[string, time.Duration] {
	return func(yield func(string, time.Duration) bool) {
		for i, w := range s.entries {
			if !yield(fmt.Sprintf("jails[%d].bantime", i), w.jail.BanTime) {
				return
			}
		}
	}
}
