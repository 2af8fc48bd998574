package lists

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const source = "http://lists.example/a"

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "var", "lists"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStoreGivesBackWhatItGot(t *testing.T) {
	s := newStore(t)
	rapid.Check(t, func(t *rapid.T) {
		want := Copy{
			Source:     rapid.String().Filter(isUTF8).Draw(t, "source"),
			Fetched:    time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "fetched"), 0).UTC(),
			Validators: Validators{rapid.StringN(0, 20, -1).Filter(isUTF8).Draw(t, "etag"), rapid.StringN(0, 20, -1).Filter(isUTF8).Draw(t, "modified")},
			Text:       rapid.SliceOf(rapid.Byte()).Draw(t, "text"),
		}
		if err := s.Save("a", want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load("a", want.Source)
		if err != nil {
			t.Fatal(err)
		}
		if got.Validators != want.Validators || !got.Fetched.Equal(want.Fetched) || !bytes.Equal(got.Text, want.Text) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if _, err := s.Load("a", want.Source+"/"); !errors.Is(err, ErrNoCopy) {
			t.Fatalf("of another source: %v", err)
		}
	})
	if files, _ := os.ReadDir(s.folder); len(files) != 1 {
		t.Errorf("the folder has %v", files)
	}
}

// isUTF8 keeps out what JSON cannot have.
func isUTF8(s string) bool { return strings.ToValidUTF8(s, "") == s }

// Whatever a disk does to a copy, it is told and not enforced.
func TestADamagedCopyIsToldAndIgnored(t *testing.T) {
	s := newStore(t)
	if err := s.Save("a", Copy{source, clockStart, Validators{ETag: `"1"`}, []byte(text(3))}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, data []byte) {
		t.Helper()
		if err := os.WriteFile(s.path("a"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Load("a", source); !errors.Is(err, ErrDamaged) || c.Text != nil {
			t.Errorf("%q, %v", c.Text, err)
		}
	}
	for i := range whole {
		try(t, whole[:i])
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << bit
			try(t, flipped)
		}
	}
	try(t, append(bytes.Clone(whole), '\n'))
	try(t, bytes.Replace(whole, []byte("-1 "), []byte("-2 "), 1)) // another form, by a later daemon

	f := newFeed(t, source, s)
	if err := f.Restore(clockStart); err != nil {
		t.Errorf("a copy of another list: %v", err)
	}
	f.name = "a"
	if err := f.Restore(clockStart); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "list a") || f.List() != nil || !f.Next().IsZero() {
		t.Errorf("%v, and %v in force", err, f.List())
	}
}

// A copy that was good for an earlier daemon and is not for this one is told too.
func TestACopyThatCannotBeReadIsToldAndIgnored(t *testing.T) {
	s := newStore(t)
	if err := s.Save("bad", Copy{source, clockStart, Validators{}, []byte("0.0.0.0/0\n")}); err != nil {
		t.Fatal(err)
	}
	f := newFeed(t, source, s)
	if err := f.Restore(clockStart); !errors.Is(err, ErrTooWide) || f.List() != nil || f.state.Validators() != (Validators{}) {
		t.Errorf("%v, and %v in force", err, f.List())
	}
}

func TestAListIsInForceAlsoWhereTheDiskIsFull(t *testing.T) {
	s := newStore(t)
	p := newPublisher(t)
	p.does(says(text(30)))
	f := newFeed(t, p.URL, s)
	if err := os.RemoveAll(s.folder); err != nil {
		t.Fatal(err)
	}
	changed, err := f.Refresh(t.Context(), now)
	if !changed || err == nil || f.List() == nil || f.List().Entries != 30 {
		t.Errorf("%v, %v, %v in force", changed, err, f.List())
	}
}

func TestAStoreKeepsItsFolderClean(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"a", "b.txt", "c"} {
		if err := s.Save(name, Copy{Source: source}); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(s.folder, tempPrefix+"123")
	other := filepath.Join(s.folder, "notes")
	for _, file := range []string{half, other} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenStore(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep([]string{"b.txt", "d"}); err != nil {
		t.Fatal(err)
	}
	var left []string
	files, _ := os.ReadDir(s.folder)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if got := strings.Join(left, " "); got != "b.txt.list notes" {
		t.Errorf("left: %s", got)
	}
}

func TestANameIsNoPath(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"", ".", "..", "../a", "a/b", ".new-a", "a\x00", "a b", strings.Repeat("a", 65)} {
		_, err := s.Load(name, source)
		_, errFeed := NewFeed(name, source, 0, hour, middling, NewFetcher("", patient), s)
		if saved := s.Save(name, Copy{}); saved == nil || err == nil || errFeed == nil || errors.Is(err, ErrNoCopy) {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestOnlyRootReadsTheCopies(t *testing.T) {
	s := newStore(t)
	if err := s.Save("a", Copy{Source: "http://user:secret@lists.example/"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{s.folder: 0o700, s.path("a"): 0o600} {
		if about, err := os.Stat(path); err != nil || about.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, about.Mode(), err)
		}
	}
}

// FuzzDecodeCopy: no file makes a daemon panic, and only what encode writes is a copy.
func FuzzDecodeCopy(f *testing.F) {
	parts, err := Copy{source, clockStart.UTC(), Validators{ETag: `"1"`}, []byte(text(3))}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join(parts, nil))
	f.Add([]byte(copyForm + "\n{}\n"))
	f.Add([]byte(copyForm + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCopy(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || c.Text != nil {
				t.Fatalf("%+v, %v", c, err)
			}
			return
		}
		if !bytes.HasSuffix(data, c.Text) {
			t.Fatalf("%q is not the end of %q", c.Text, data)
		}
	})
}
