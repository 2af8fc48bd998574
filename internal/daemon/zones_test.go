package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
)

// A zone file and the pool are checked together, whichever of them has changed.
func TestZoneFileHasNoPoolAddress(t *testing.T) {
	t.Parallel()
	const zoned = "[{name: foo.example., file: foo.zone}]"
	folder := t.TempDir()
	read := func(records, pool string) *config.Document {
		t.Helper()
		file := filepath.Join(folder, "realmgate.yaml")
		configuration := strings.NewReplacer("[foo.example.]", zoned, "198.18.0.32/28", pool).Replace(text)
		for name, content := range map[string]string{file: configuration, filepath.Join(folder, "foo.zone"): records} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := config.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct{ about, records, pool, want string }{
		{"beside it", "\ns A 198.18.0.33\n", "198.18.0.40/29", ""},
		{"A", "\ns A 198.18.0.33\n", "198.18.0.32/28", "foo.zone:2: A of s.foo.example. is 198.18.0.33"},
		{"hint", "x HTTPS 1 . ipv4hint=198.18.0.33\n", "198.18.0.33-198.18.0.34", "foo.zone:1: HTTPS of x.foo.example. with ipv4hint=198.18.0.33"},
	} {
		d := read(c.records, c.pool)
		_, newErr := newView(d, nil, nil, nil) // as a start and a reload do
		for by, err := range map[string]error{"check": Check(d), "start and reload": newErr} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, %s: %v, want %q", c.about, by, err, c.want)
			}
		}
	}
}
