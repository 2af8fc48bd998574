package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
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
	command, patterns                             []at[string]
	nameLine, fileLine, commandLine, patternsLine int
}

func (w *watchDraft) keys() []key {
	w.watch.Hits, w.watch.Within, w.watch.Ban = 5, 10*minute, time.Hour
	return []key{
		oneAt("name", &w.watch.Name, &w.nameLine, label()).must(),
		noting(&w.fileLine, one("file", &w.watch.File, absolutePath()).otherwise("none")),
		noting(&w.commandLine, many("command", &w.command, argument(), 1)),
		noting(&w.patternsLine, many("patterns", &w.patterns, logPattern(), 1)).must(),
		one("hits", &w.watch.Hits, number(1, mostHits)),
		one("within", &w.watch.Within, duration(second, longestCount)),
		one("ban", &w.watch.Ban, duration(second, longestBan)),
	}
}

// absolutePath is a path that means the same from every folder.
func absolutePath() kind[string] {
	k := lineOfText("path", "absolute path", "an absolute path, as /var/log/auth.log")
	parse := k.parse
	k.parse = func(text string) (string, error) {
		if !filepath.IsAbs(text) {
			return "", errNoHint
		}
		return parse(text)
	}
	return k
}

func logPattern() kind[string] {
	return lineOfText("pattern", "ready-made, or with `<ADDRESS>`", "a pattern")
}

// lineOfText is some text that a program or a file system can take.
func lineOfText(name, allowed, want string) kind[string] {
	return kind[string]{
		name: name, allowed: allowed, want: want, tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			switch {
			case text == "":
				return "", errNoHint
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
			d.faults.add(w.nameLine, "watches: there are %d, at most %d are allowed", len(d.watches), mostWatches)
			break
		}
		d.config.Watches = append(d.config.Watches, w.finish(d.faults, path))
	}
}

func (w *watchDraft) finish(faults *faultLog, path string) Watch {
	w.watch.Command = finishCommand(faults, path, w.command, w.commandLine)
	for _, pattern := range w.patterns {
		w.watch.Patterns = append(w.watch.Patterns, pattern.value)
	}
	switch {
	case w.fileLine == 0 && w.commandLine == 0:
		faults.add(w.nameLine, "%s: give file or command", path)
	case w.fileLine > 0 && w.commandLine > 0:
		faults.add(w.commandLine, "%s: give file or command, not both", path)
	case strings.ContainsAny(w.watch.File, "*?"):
		faults.add(w.fileLine, "%s.file: %s: give one file, and each a watch of its own: * and ? stand for themselves", path, quote(w.watch.File))
	}
	if len(w.patterns) > mostPatterns {
		faults.add(w.patternsLine, "%s.patterns: there are %d, at most %d are allowed", path, len(w.patterns), mostPatterns)
	}
	return w.watch
}
