package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A file without a prefix, as the list of a jail that banned nobody, is no error: nobody is banned, and the gateway is not asked.
func TestBansOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	daemon := &fakeDaemon{}
	socket := daemon.serve(t)
	file := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(file, []byte("\n# nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]string{"add": "0 prefixes banned\n", "remove": "0 prefixes banned no more\n"} {
		got := execute(t.Context(), "ban", verb, "--socket", socket, "--file", file)
		if got.code != 0 || got.stdout != want || got.stderr != "" {
			t.Errorf("ban %s: %+v, want %q", verb, got, want)
		}
	}
	if len(daemon.queries) > 0 {
		t.Errorf("asked: %q", daemon.queries)
	}
}
