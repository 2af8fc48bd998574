package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// debian is a tree as debootstrap makes one: Debian's least, and what is added to that.
type debian struct {
	suite string
	add   string // a package that is in it
	fetch string // a package that apt can install in it without a network
}

var (
	bookworm = debian{suite: "bookworm", add: "systemd-sysv"}                    // Debian 12
	trixie   = debian{suite: "trixie", add: "systemd-sysv"}                      // Debian 13
	without  = debian{suite: "bookworm", add: "libc-bin", fetch: "systemd-sysv"} // one without systemd, as containers are
)

var making = map[debian]*sync.Mutex{bookworm: {}, trixie: {}, without: {}}

// archive is that of the tree, which is made once and kept.
func (d debian) archive(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", d))
	making[d].Lock() // tests that run beside each other want the same
	defer making[d].Unlock()
	archive := filepath.Join(cache, "realmgate", "debian", hex.EncodeToString(sum[:8])+".tar")
	if _, err := os.Stat(archive); err == nil {
		return archive
	}
	start, folder := time.Now(), filepath.Join(t.TempDir(), "tree")
	does := func(name string, arguments ...string) error {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, arguments...).CombinedOutput() //nolint:gosec // the test's own commands
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		return nil
	}
	err = errors.Join(does("debootstrap", "--variant=minbase", "--include="+d.add, d.suite, folder), does("chroot", folder, "apt-get", "clean"))
	if err == nil && d.fetch != "" {
		err = does("chroot", folder, "apt-get", "install", "-q", "-y", "--download-only", d.fetch)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%5.1f s  %s with %s is made", time.Since(start).Seconds(), d.suite, d.add)
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil { //nolint:gosec // a cache
		t.Fatal(err)
	}
	part := archive + "." + strconv.Itoa(os.Getpid())
	if err := errors.Join(pack(folder, part), os.Rename(part, archive)); err != nil {
		t.Fatalf("keep the tree: %v", err)
	}
	return archive
}

// pack makes an archive of a tree, without what is mounted there.
func pack(folder, archive string) error {
	if out, err := exec.Command("tar", "-c", "-f", archive, "-C", folder, "--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*", ".").CombinedOutput(); err != nil { //nolint:gosec // our own folder
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
