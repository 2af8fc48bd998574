package lists

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A copy that the disk did not take is in force, is said not to be on the disk for as long
// as that is so, and is written as soon as the disk takes it, though its server only says
// that nothing has changed.
func TestACopyThatTheDiskDidNotTakeIsWrittenLater(t *testing.T) {
	p, store := newPublisher(t), newStore(t)
	f := newFeed(t, p.URL, store)
	refresh := func() (bool, error) { return f.Refresh(t.Context(), func() time.Time { return clockStart }) }
	is := func(said ...string) {
		t.Helper()
		s := f.Status(clockStart)
		for _, want := range said {
			if !strings.Contains(s.Error, want) {
				t.Errorf("the status says %q, want %q", s.Error, want)
			}
		}
		if len(said) == 0 && s.Error != "" {
			t.Errorf("the status says %q", s.Error)
		}
	}
	p.does(says(text(100), "ETag", `"1"`))
	if changed, err := refresh(); !changed || err != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	if err := os.RemoveAll(store.folder); err != nil {
		t.Fatal(err)
	}
	p.does(asksFor(`"2"`, text(120)))
	if changed, err := refresh(); !changed || !errors.Is(err, ErrUnsaved) || f.List().Entries != 120 {
		t.Fatalf("a disk that takes nothing: %v, %v, %d entries", changed, err, f.List().Entries)
	}
	is("not on the disk")
	if s := f.Status(clockStart); s.Failures != 0 || s.Next.Sub(clockStart) != hour {
		t.Errorf("the server is asked again too soon: %+v", s)
	}
	if changed, err := refresh(); changed || !errors.Is(err, ErrUnsaved) {
		t.Errorf("304, and the disk takes nothing: %v, %v", changed, err)
	}
	is("not on the disk")
	p.does(status(404))
	if _, err := refresh(); err == nil || errors.Is(err, ErrUnsaved) {
		t.Errorf("the server fails: %v", err)
	}
	is("404 Not Found", "not on the disk")

	if err := os.Mkdir(store.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	p.does(asksFor(`"2"`, "not asked with the ETag of the copy in force"))
	if changed, err := refresh(); changed || err != nil {
		t.Errorf("304, and the disk takes it: %v, %v", changed, err)
	}
	is()
	if c, err := store.Load("bad", p.URL); err != nil || c.Validators.ETag != `"2"` || !c.Fetched.Equal(clockStart) || string(c.Text) != text(120) {
		t.Errorf("on the disk %+v, %v", c, err)
	}
	if f.unsaved != nil {
		t.Error("it is kept in memory for ever")
	}
}
