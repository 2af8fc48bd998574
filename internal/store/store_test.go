package store

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Each("bucket", func(key string, value []byte) error { all[key] = string(value); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// What was changed is there when the file is opened anew, and no file is made for
// nothing.
func TestStoreKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "a.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Change("bucket", nil, []string{"none"}); err != nil || len(contents(t, s)) != 0 {
		t.Errorf("an empty store: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made for nothing")
	}
	if err := s.Change("bucket", map[string][]byte{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Change("bucket", map[string][]byte{"b": []byte("4")}, []string{"a", "none"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, s), map[string]string{"b": "4", "c": "3"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What changes together is there together, or not at all.
func TestStoreChangesSeveralBuckets(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	good := Edit{Bucket: "bucket", Put: map[string][]byte{"a": []byte("1")}}
	if err := s.ChangeAll(Edit{Bucket: "other", Remove: []string{"none"}}, good); err != nil {
		t.Fatal(err)
	}
	good.Put["b"] = []byte("2")
	if err := s.ChangeAll(good, Edit{Bucket: "other", Put: map[string][]byte{"": nil}}); err == nil {
		t.Error("a key without a letter was taken")
	}
	if got, want := contents(t, s), map[string]string{"a": "1"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFileThatIsNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte("this is no database, and longer than a page of nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("it was opened")
	}
}
