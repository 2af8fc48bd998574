package natlog

import (
	"os"
	"testing"
	"time"

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
