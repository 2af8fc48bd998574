package packages

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unit is a copy of the service's unit whose programs are there, for systemd-analyze to look at.
func unit(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil && os.Getenv("CI") == "" {
		t.Skip("needs systemd-analyze: run make deps")
	}
	text, err := os.ReadFile("../../packages/realmgate.service")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "realmgate.service")
	there := strings.ReplaceAll(string(text), "/usr/bin/realmgate", "/bin/true")
	if err := os.WriteFile(path, []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// systemd finds nothing wrong with the unit: of a wrong key it only warns.
func TestUnitIsSound(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", unit(t)).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The service is exposed to at most 3.0 of 10, as systemd counts.
func TestUnitIsLocked(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", unit(t)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Its capabilities are those that the gateway was tested with (test/e2e, -user), given and no more.
func TestUnitCapabilities(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(unit(t))
	if err != nil {
		t.Fatal(err)
	}
	const four = "CAP_BPF CAP_NET_ADMIN CAP_PERFMON CAP_NET_BIND_SERVICE\n"
	for _, key := range []string{"\nAmbientCapabilities=", "\nCapabilityBoundingSet="} {
		if strings.Count(string(text), key) != 1 || !strings.Contains(string(text), key+four) {
			t.Errorf("%s is not %s", key, four)
		}
	}
}

// The folders of a machine are made as the unit's user needs them, and its user is.
func TestUnitFolders(t *testing.T) {
	t.Parallel()
	_ = unit(t)
	root := t.TempDir()
	for path, from := range map[string]string{"usr/lib/sysusers.d/realmgate.conf": "realmgate.sysusers", "usr/lib/tmpfiles.d/realmgate.conf": "realmgate.tmpfiles"} {
		text, err := os.ReadFile("../../packages/" + from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil { //nolint:gosec // a system's
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), text, 0o644); err != nil { //nolint:gosec // the same
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"sys/fs/bpf", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(root, "sys/fs/bpf/realmgate/default/layout_table") // by a gateway of root's
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"systemd-sysusers", "--root=" + root}, {"systemd-tmpfiles", "--root=" + root, "--create", "realmgate.conf"}} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	groups, err := os.ReadFile(filepath.Join(root, "etc/group"))
	for _, g := range []string{"realmgate", "realmgate-read", "realmgate-operate", "realmgate-admin"} {
		if err != nil || !strings.Contains("\n"+string(groups), "\n"+g+":") {
			t.Errorf("there is no group %s: %v", g, err)
		}
	}
	for _, path := range []string{filepath.Dir(filepath.Dir(left)), filepath.Dir(left), left} {
		info, err := os.Stat(path)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 { //nolint:forcetypeassert // it is Linux's
			t.Errorf("%s is root's: %v", path, err)
		}
	}
	for path, want := range map[string]os.FileMode{"sys/fs/bpf": 0o711, "sys/fs/bpf/realmgate": 0o700} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", path, info, err, want)
		}
	}
}
