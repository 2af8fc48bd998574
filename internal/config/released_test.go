package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// released has each example as it was at any time since files say their version. They are read for ever as they stand: users have
// files that they made of them.
const released = "testdata/released/*.yaml"

func TestEarlierExamplesAreRead(t *testing.T) {
	t.Parallel()
	for name, text := range textsOf(t, released) {
		if !strings.Contains(text, "\nversion: ") {
			t.Errorf("%s does not say its version", name)
		}
		if _, err := Parse(filepath.Join(filesOfExamples(t), "x.yaml"), []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who changes an example keeps what it was.
func TestExamplesAreKept(t *testing.T) {
	t.Parallel()
	kept := map[string]bool{}
	for _, text := range textsOf(t, released) {
		kept[text] = true
	}
	for name, text := range textsOf(t, "../../examples/*.yaml") {
		if !kept[text] {
			stem := strings.TrimSuffix(filepath.Base(name), ".yaml")
			t.Errorf("%s is in no file of %s: copy it there as %s-N.yaml, and change none of them", name, released, stem)
		}
	}
}

// A file of a version that this build does not know is refused by one line, whatever else is in it.
func TestLaterVersionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range textsOf(t, released) {
		later := strings.Replace(text, "\nversion: 1\n", "\nversion: 2\nnew_key: 1\n", 1)
		_, err := Parse("x.yaml", []byte(later))
		if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), `want 1, the version that this build reads, not "2": a later build reads it`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
