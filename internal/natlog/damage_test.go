package natlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// A log that cannot be read has an error for an answer, not that nobody had the port.
func TestDamagedLogIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(content []byte) []byte{
		"flipped":   func(content []byte) []byte { content[len(content)/2] ^= 0xff; return content },
		"truncated": func(content []byte) []byte { return content[:len(content)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			w.put(mapping(MappingBegun, 1, 40000))
			w.pass(time.Minute)
			w.put()
			path := w.name("2026-11-30", packed)
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, damage(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if said, err := w.look(query{outside, 40000, model.UDP, w.at}); err == nil {
				t.Errorf("it says %+v", said)
			}
		})
	}
}

// Files that somebody cuts off while they are read have an error for an answer.
func TestLogCutOffWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(mapping(MappingBegun, 1, 40000))
	w.pass(time.Minute)
	w.put()
	d, err := w.openDay("2026-11-30")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := os.Truncate(w.name("2026-11-30", indexed), 0); err != nil {
		t.Fatal(err)
	}
	q := query{outside, 40000, model.UDP, w.at}
	s := &search{keys: keysOf(q), at: milli(q.at), best: map[key]word{}}
	if done, err := s.day(d); err == nil {
		t.Errorf("it is read to its end: %v, %v", done, s.best)
	}
}

// Files of a day that are damaged are put aside, today's and those that a crash has left, and the log goes on. They go after as
// many days as others.
func TestDamagedDayIsPutAside(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{"today": time.Minute, "left": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			w.put(mapping(MappingBegun, 1, 40000))
			if err := extend(w.name("2026-11-30", indexed), strings.Repeat("damaged", 100)); err != nil {
				t.Fatal(err)
			}
			next := again(t, w.path, w.at.Add(later))
			next.put(Record{Kind: LogBegun, Adopted: true}, mapping(MappingBegun, 2, 40001))
			next.says(40001, next.at, "host2.example")
			if damaged, _ := filepath.Glob(w.path + "/nat-2026-11-30.*" + aside + "*"); len(damaged) != 3 {
				t.Errorf("put aside are %v", damaged)
			}
			next.pass(96 * time.Hour)
			next.put()
			if damaged, _ := filepath.Glob(w.path + "/*" + aside + "*"); len(damaged) != 0 {
				t.Errorf("after the days that it is kept there are %v", damaged)
			}
		})
	}
}

// Files have their mode where the process makes none for a group, as systemd starts it.
func TestFilesAreForTheGroup(t *testing.T) { //nolint:paralleltest // the umask is the process'
	mask := unix.Umask(0o077)
	defer unix.Umask(mask)
	w := newWriter(t)
	w.put(mapping(MappingBegun, 1, 40000))
	for _, kind := range []string{packed, indexed, running} {
		if info, err := os.Stat(w.name("2026-11-30", kind)); err != nil || info.Mode() != fileMode {
			t.Errorf("%s: %v, %v", kind, info, err)
		}
	}
}
