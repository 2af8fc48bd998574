package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

// Bounds of watches.
const (
	mostWatches  = 64
	mostPatterns = 16
	longestText  = 4096 // bytes of a pattern, an argument or a path
	mostHits     = 1000
	longestCount = 7 * 24 * time.Hour
	longestBan   = 365 * 24 * time.Hour
)

// Watch is a log, and what in it has an address banned. What a pattern may be is the
// gateway's to check.
type Watch struct {
	Name     string   // unique
	File     string   // absolute path of a log; empty: Command
	Command  []string // argument vector, whose first part is an absolute path
	Patterns []string // 1 to 16
	Hits     int      // 1 to 1000
	Within   time.Duration
	Ban      time.Duration
}

type watchDraft struct {
	watch                                         Watch
	command, patterns                             []schema.At[string]
	nameLine, fileLine, commandLine, patternsLine int
}

func (w *watchDraft) keys() []schema.Key {
	w.watch.Hits, w.watch.Within, w.watch.Ban = 5, 10*minute, time.Hour
	return []schema.Key{
		schema.OneAt("name", &w.watch.Name, &w.nameLine, schema.Label()).Must(),
		noting(&w.fileLine, schema.One("file", &w.watch.File, absolutePath()).Otherwise("none")),
		noting(&w.commandLine, schema.Many("command", &w.command, argument(), 1)),
		noting(&w.patternsLine, schema.Many("patterns", &w.patterns, logPattern(), 1)).Must(),
		schema.One("hits", &w.watch.Hits, schema.Number(1, mostHits)),
		schema.One("within", &w.watch.Within, schema.Duration(second, longestCount)),
		schema.One("ban", &w.watch.Ban, schema.Duration(second, longestBan)),
	}
}

// absolutePath is a path that means the same from every folder.
func absolutePath() schema.Kind[string] {
	k := lineOfText("path", "absolute path", "an absolute path, as /var/log/auth.log")
	parse := k.Parse
	k.Parse = func(text string) (string, error) {
		if !filepath.IsAbs(text) {
			return "", schema.ErrNoHint
		}
		return parse(text)
	}
	return k
}

func logPattern() schema.Kind[string] {
	return lineOfText("pattern", "ready-made, or with `<ADDRESS>`", "a pattern")
}

// lineOfText is some text that a program or a file system can take.
func lineOfText(name, allowed, want string) schema.Kind[string] {
	return schema.Kind[string]{
		Name: name, Allowed: allowed, Want: want, Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			switch {
			case text == "":
				return "", schema.ErrNoHint
			case len(text) > longestText:
				return "", fmt.Errorf("it is longer than %d bytes", longestText)
			case strings.ContainsAny(text, "\x00\r\n"):
				return "", errors.New("it has a NUL or the end of a line in it")
			}
			return text, nil
		},
	}
}

// finishWatches checks what single keys do not show.
func (d *draft) finishWatches() {
	taken := takenNames{}
	for i, w := range d.watches {
		path := fmt.Sprintf("watches[%d]", i)
		taken.take(d.faults, path, w.watch.Name, w.nameLine)
		if i == mostWatches {
			d.faults.Add(w.nameLine, "watches: there are %d, at most %d are allowed", len(d.watches), mostWatches)
			break
		}
		d.config.Watches = append(d.config.Watches, w.finish(d.faults, path))
	}
}

func (w *watchDraft) finish(faults *schema.Faults, path string) Watch {
	w.watch.Command = finishCommand(faults, path, w.command, w.commandLine)
	for _, pattern := range w.patterns {
		w.watch.Patterns = append(w.watch.Patterns, pattern.Value)
	}
	switch {
	case w.fileLine == 0 && w.commandLine == 0:
		faults.Add(w.nameLine, "%s: give file or command", path)
	case w.fileLine > 0 && w.commandLine > 0:
		faults.Add(w.commandLine, "%s: give file or command, not both", path)
	case strings.ContainsAny(w.watch.File, "*?"):
		faults.Add(w.fileLine, "%s.file: %s: give one file, and each a watch of its own: * and ? stand for themselves", path, schema.Quote(w.watch.File))
	}
	if len(w.patterns) > mostPatterns {
		faults.Add(w.patternsLine, "%s.patterns: there are %d, at most %d are allowed", path, len(w.patterns), mostPatterns)
	}
	return w.watch
}
