package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// The rpm installs into a tree with all that it has, makes its user there, and leaves none of its files when it is removed.
func TestRPMInstallsInATree(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	root := t.TempDir()
	if err := unpack(bookworm.archive(t), root); err != nil {
		t.Fatal(err)
	}
	rpm := func(arguments ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "rpm", append([]string{"--root", root}, arguments...)...).CombinedOutput() //nolint:gosec // the test's own
		if err != nil {
			t.Fatalf("rpm %v: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	// Debian's tree has all that the package asks for, and is in no database of rpm's.
	rpm("--install", "--nodeps", built(t, "*.x86_64.rpm"))
	files := strings.Fields(rpm("--query", "--list", "realmgate"))
	if len(files) < 50 {
		t.Errorf("it has only %q", files)
	}
	for _, file := range []string{
		"/usr/bin/realmgate", "/usr/lib/systemd/system/realmgate.service", "/usr/lib/sysusers.d/realmgate.conf", "/usr/lib/tmpfiles.d/realmgate.conf",
		"/usr/share/man/man1/realmgate-status.1.gz", "/usr/share/man/man5/realmgate.yaml.5.gz", "/usr/share/zsh/site-functions/_realmgate",
	} {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Error(err)
		}
	}
	if out := rpm("--verify", "--nodeps", "realmgate"); out != "" {
		t.Errorf("what is there differs from the package:\n%s", out)
	}
	if passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err != nil || !strings.Contains(string(passwd), "\nrealmgate:") {
		t.Errorf("there is no user realmgate: %v\n%s", err, passwd)
	}
	rpm("--erase", "realmgate")
	for _, file := range files {
		if info, err := os.Lstat(filepath.Join(root, file)); err == nil && !info.IsDir() {
			t.Errorf("%s is left", file)
		}
	}
}
