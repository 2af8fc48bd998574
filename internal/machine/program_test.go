package machine

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Who listens is named, as far as its process can be seen.
func TestProgramThatListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	own, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(listener.Addr().String())
	m := new(Machine)
	m.SetAddresses(map[netip.Addr]bool{at.Addr(): true})
	if name := m.Program(model.TCP, at); name != "" {
		t.Errorf("before a look it is %q", name)
	}
	if err := m.LookAtSockets(); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(own)), os.Getpid()); m.Program(model.TCP, at) != want {
		t.Errorf("it is %q, want %q", m.Program(model.TCP, at), want)
	}
	if name := m.Program(model.UDP, at); name != "" {
		t.Errorf("at UDP's port is %q", name)
	}

	proc := t.TempDir()
	if err := os.MkdirAll(filepath.Join(proc, "7", "fd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("socket:[12]", filepath.Join(proc, "7", "fd", "3")); err != nil {
		t.Fatal(err)
	}
	if name := programOf(proc, "12"); name != "" {
		t.Errorf("one that has ended is %q", name)
	}
}
