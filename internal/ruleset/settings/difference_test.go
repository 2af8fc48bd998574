package settings

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/nf"
)

// other is not what a function had.
type other struct{ nf.Settings }

func TestDifferences(t *testing.T) {
	t.Parallel()
	list := func(names string) (functions []Function) {
		for _, name := range strings.Fields(names) {
			f := Function{Name: name[:1], Priority: 100}
			switch name[1:] {
			case "1":
				f.Priority = 1
			case "x":
				f.Settings = other{}
			}
			functions = append(functions, f)
		}
		return functions
	}
	for _, c := range []struct{ was, is, want string }{
		{"", "", ""}, {"a b", "a b", ""},
		{"a", "a b", "inserted b"}, {"a b c", "a c", "removed b"}, {"a b", "c d", "removed a, removed b, inserted c, inserted d"},
		{"a b", "b a", "moved a"}, {"a b c", "b c a", "moved a"}, {"a b c", "c a b", "moved c"}, {"a b c d", "d c b a", "moved a, moved b, moved c"},
		{"a b", "b1 a", "moved b"}, {"a b", "a bx", "changed b"}, {"a b c", "d cx a1", "removed b, inserted d, changed c, moved a"},
	} {
		if got := strings.Join(Differences(list(c.was), list(c.is)), ", "); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}
