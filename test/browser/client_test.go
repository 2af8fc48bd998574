package browser

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// world is a laid topology.
type world struct {
	*netns.Realm
	t         *testing.T
	directory string
}

// newWorld lays it. Its folder is made first, so that it is removed last, when
// the lab is closed and no browser writes there any more.
func newWorld(t *testing.T, options netns.Options) *world {
	t.Helper()
	directory, err := os.MkdirTemp("", "realmgate-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	// Servers of Debian's packages leave root for users of their own, who have
	// to get to their files.
	if err := os.Chmod(directory, 0o755); err != nil { // #nosec G302
		t.Fatal(err)
	}
	options.Prefix = "browser"
	return &world{Realm: lab.NewRealm(t, options), t: t, directory: directory}
}

// machine is a client's machine: a namespace, and files of its own below /etc.
type machine struct {
	netns.Node
	t         *testing.T
	directory string
	files     map[string]string // path → the file that stands there

	flags       []string // of its Chromium, beside those of all
	preferences string   // of its Firefox
}

// newMachine makes a machine that asks the resolver.
func (w *world) newMachine(node netns.Node, resolver netip.Addr) *machine {
	w.t.Helper()
	m := &machine{Node: node, t: w.t, directory: filepath.Join(w.directory, node.Name()), files: map[string]string{}}
	m.file("/etc/resolv.conf", fmt.Sprintf("nameserver %s\n", resolver))
	return m
}

// file puts a text in the place of a file that exists, for this machine only.
func (m *machine) file(path, text string) {
	m.t.Helper()
	own := filepath.Join(m.directory, "etc", filepath.Base(path))
	write(m.t, own, text)
	m.files[path] = own
}

// command is the command to run a program on the machine, in a mount namespace
// where its files stand. Its home is the machine's folder.
func (m *machine) command(ctx context.Context, name string, args ...string) *netns.Command {
	script := ""
	for path, own := range m.files {
		script += fmt.Sprintf("mount --bind '%s' '%s' && ", own, path)
	}
	all := append([]string{"--mount", "--propagation", "private", "sh", "-c", script + `exec "$@"`, "sh", name}, args...)
	command := m.Command(ctx, "unshare", all...)
	command.Env = append(os.Environ(), "HOME="+m.directory, "TMPDIR="+m.directory,
		"DBUS_SESSION_BUS_ADDRESS=disabled:", "MOZ_CRASHREPORTER_DISABLE=1", "DISPLAY=")
	return command
}

// start starts a program that runs until the lab is closed; it logs to a file in
// the machine's folder, whose path is returned.
func (m *machine) start(log, name string, args ...string) (string, *netns.Command) {
	m.t.Helper()
	path := filepath.Join(m.directory, log)
	file, err := os.Create(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close() // the process has its own copy
	command := m.command(context.Background(), name, args...)
	command.Stdout, command.Stderr = file, file
	if err := command.Start(); err != nil {
		m.t.Fatal(err)
	}
	return path, command
}
