package packages

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// machine is a Debian whose process 1 is systemd, with a root on a tmpfs and namespaces of its own; it is in the network of a
// gateway of the lab.
type machine struct {
	t    *testing.T
	init *netns.Command
	root string // its root, as seen from here
}

// newMachine boots one from the archive of its tree, and waits until it is up. It ends with the test.
func newMachine(t *testing.T, network *netns.Gateway, tree string) *machine {
	t.Helper()
	outside, err := inodes()
	if err != nil {
		t.Fatal(err)
	}
	cgroup, err := newCgroup(t)
	if err != nil {
		t.Fatal(err)
	}
	defer cgroup.Close()
	at := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var said bytes.Buffer
	init := network.Command(context.Background(), os.Args[0])
	init.Env = append(os.Environ(), bootTree+"="+tree, bootAt+"="+at, bootMark+"="+rand.Text(), bootOutside+"="+outside)
	init.Stdout, init.Stderr = &said, &said
	init.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	init.SysProcAttr.UseCgroupFD, init.SysProcAttr.CgroupFD = true, int(cgroup.Fd())
	if err := init.Start(); err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, init: init, root: filepath.Join("/proc", strconv.Itoa(init.Process.Pid), "root")}
	t.Cleanup(func() {
		if t.Failed() {
			journal, _ := m.run("journalctl", "--no-pager", "--lines=150")
			t.Logf("the journal:\n%s", journal)
		}
		m.end()
	})
	var state string
	eventually(t, time.Minute, "systemd is up", func() bool {
		if err := init.Process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("the machine has ended: %s", said.String())
		}
		state, _ = m.run("systemctl", "is-system-running")
		return state == "running" || state == "degraded"
	})
	t.Logf("%5.1f s  systemd is up", time.Since(start).Seconds())
	if state == "degraded" {
		failed, _ := m.run("systemctl", "list-units", "--failed", "--plain", "--no-legend")
		t.Logf("units that fail on any such machine: %s", failed)
	}
	return m
}

// end takes its current away.
func (m *machine) end() {
	_ = m.init.Process.Kill() // with it ends all in its namespaces
	_ = m.init.Wait()
}

// run runs a command on the machine, as root, and returns what it says.
func (m *machine) run(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	line := append([]string{"--target", strconv.Itoa(m.init.Process.Pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "--"}, command...)
	c := exec.CommandContext(ctx, "nsenter", line...) //nolint:gosec // the test's own commands
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must is run for what has to end well.
func (m *machine) must(command ...string) string {
	m.t.Helper()
	out, err := m.run(command...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return out
}

// put copies a file to the machine.
func (m *machine) put(content []byte, to string) {
	m.t.Helper()
	if err := os.WriteFile(m.root+to, content, 0o644); err != nil { //nolint:gosec // whoever runs there reads it
		m.t.Fatal(err)
	}
}

// show is a property of the service.
func (m *machine) show(property string) string {
	m.t.Helper()
	return m.must("systemctl", "show", "--property="+property, "--value", "realmgate.service")
}

// newCgroup is a folder of the second version's hierarchy; it is removed at the end of the test, after those that systemd made in it.
func newCgroup(t *testing.T) (*os.File, error) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if fields[2] != "cgroup2" {
			continue
		}
		folder, err := os.MkdirTemp(fields[1], "rg-packages-")
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { removeCgroups(t, folder) })
		return os.Open(folder) //nolint:gosec // made just now
	}
	return nil, errors.New("no cgroup2 is mounted on this machine")
}

func removeCgroups(t *testing.T, top string) {
	var folders []string
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for i := len(folders) - 1; i >= 0; i-- {
		eventually(t, 10*time.Second, folders[i]+" is removed", func() bool {
			err := os.Remove(folders[i]) // busy until the last process is reaped
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
	}
}

var eventually = lab.Eventually
