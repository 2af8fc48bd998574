package repo

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is a set of files with slash-separated paths below one root.
type tree struct {
	fs.FS
	root  string // directory on disk; empty for a made-up tree
	files []string
}

// rule looks at a tree and returns one line for each problem: "FILE:LINE: what
// is wrong; what to do".
type rule func(tree) []string

// repository returns the tree this test lies in: what git tracks or would add,
// or everything but hidden folders and bin where there is no git.
func repository(t *testing.T) tree {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the repository's root should be %s: %v", root, err)
	}
	r := tree{FS: os.DirFS(root), root: root}
	for _, file := range listed(t, root) {
		if info, err := os.Stat(filepath.Join(root, file)); err == nil && info.Mode().IsRegular() {
			r.files = append(r.files, file)
		}
	}
	if len(r.files) == 0 {
		t.Fatalf("no files found in %s", root)
	}
	slices.Sort(r.files)
	return r
}

func listed(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	var files []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == ".git" || name == "bin") {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walking %s: %v", root, err)
	}
	return files
}

// sample makes a tree out of path → content.
func sample(files map[string]string) tree {
	m := fstest.MapFS{}
	s := tree{FS: m}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content)}
		s.files = append(s.files, name)
	}
	slices.Sort(s.files)
	return s
}

// read returns a file's text; ok is false where it does not exist.
func (t tree) read(name string) (text string, ok bool) {
	data, err := fs.ReadFile(t.FS, name)
	return string(data), err == nil
}

// has reports whether name is a file or a folder of the tree.
func (t tree) has(name string) bool {
	name = path.Clean(name)
	return name == "." || slices.ContainsFunc(t.files, func(file string) bool {
		return file == name || strings.HasPrefix(file, name+"/")
	})
}

// match returns the files for which keep holds.
func (t tree) match(keep func(string) bool) []string {
	var kept []string
	for _, file := range t.files {
		if keep(file) {
			kept = append(kept, file)
		}
	}
	return kept
}

// suffix returns a filter for files that end in one of the suffixes.
func suffix(suffixes ...string) func(string) bool {
	return func(file string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(file, s) })
	}
}

// upholds fails the test with every problem that the rule finds in the repository.
func upholds(t *testing.T, check rule) {
	t.Helper()
	problems := check(repository(t))
	slices.Sort(problems)
	for _, problem := range slices.Compact(problems) {
		t.Error(problem)
	}
}

// rejects proves that a rule can fail: on these files it must name every want
// and nothing else.
func rejects(t *testing.T, check rule, files map[string]string, want ...string) {
	t.Helper()
	problems := check(sample(files))
	for _, words := range want {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, words) }) {
			t.Errorf("no problem says %q; got %q", words, problems)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("got %d problems, want %d: %q", len(problems), len(want), problems)
	}
}

// unavailable ends a test that needs something this machine lacks: skipped on a
// desk, failed in CI, where a skip would hide a regression.
func unavailable(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s; CI allows no skips: run make deps first", what)
	}
	t.Skipf("%s: run make deps", what)
}
