package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const balanced = `outbound: {addresses: [198.18.0.2]}
chains:
  - name: web
    match: {direction: in, to: 198.18.0.2, protocol: tcp, port: 8000}
    functions: [{use: multipath, backends: [{to: 10.0.0.100, port: 8080}, {to: 10.0.0.101, port: 8080}], check: {every: 1h}}]
`

// openTables counts the tables of the data plane that the process has open.
func openTables(t *testing.T) (n int) {
	t.Helper()
	const folder = "/proc/self/fd"
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil && strings.HasSuffix(to, "bpf-map") {
			n++
		}
	}
	return n
}

// A reload that still goes on when the backends are asked no more has the table that they have, and a stop gives it up. It
// counts what the process has, so that no other test may run.
func TestStopGivesUpTablesOfBackends(t *testing.T) {
	before := openTables(t)
	r := newRig(t, text+balanced)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.must(r.backends.Run(ctx))
	running := openTables(t)
	r.must(r.reloadWith(r.text + "ipv6: forward\n"))
	if now := openTables(t); now != running {
		t.Errorf("%d tables are open, and after a reload %d", running, now)
	}
	r.must(r.namespace.Do(r.services.Stop))
	if now := openTables(t); now != before {
		t.Errorf("%d tables were open before the start, and after the stop %d", before, now)
	}
}

// Where the process may open nothing more, who is up cannot be put into force; that is told, and the next one works. The
// limit is of the process, so that no other test may run.
func TestPathsWithoutAFileLeft(t *testing.T) {
	r := newRig(t, text+balanced)
	paths := r.view.Load().backends["web/multipath"].Paths
	var limit unix.Rlimit
	r.must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	r.must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	err := paths.Set(1, false)
	r.must(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("without a file left: %v", err)
	}
	r.must(paths.Set(1, false))
	r.must(paths.Set(1, true))
}
