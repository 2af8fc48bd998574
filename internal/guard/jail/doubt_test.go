package jail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

// A jail whose file is missing is named, and no other: one whose file is there, or that follows a command.
func TestDoubtsNameMissingFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	there, missing := filepath.Join(folder, "there.log"), filepath.Join(folder, "missing.log")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found := Doubts([]settings.Jail{
		{Name: "there", File: there}, {Name: "missing", File: missing}, {Name: "journal", Command: []string{"/usr/bin/journalctl"}},
	})
	if len(found) != 1 || !strings.HasPrefix(found[0], "jail missing bans nobody while there is no "+missing+": ") {
		t.Errorf("%q", found)
	}
}
