package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/doctor/collect"
)

// runsSoFar are the runs of the public program that the kernel has counted, which it does only while somebody wants it.
func (w *ward) runsSoFar() uint64 {
	w.t.Helper()
	times, err := datapath.ProgramTimes(w.ID())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range times {
		if p.Program == "tcx gateway_public" {
			return p.Runs
		}
	}
	w.t.Fatalf("no public program in %v", times)
	return 0
}

// A profile tells what ran, ends early by Ctrl-C, and leaves nothing switched on, however it ends.
func TestDoctorProfile(t *testing.T) { //nolint:paralleltest // the kernel counts for all or for nobody
	w := newWard(t)
	w.runs()
	fetch := func() {
		t.Helper()
		w.mustLend(w.Clients[0], "www.host1.foo.example.")
	}
	for _, c := range []struct {
		name   string
		signal syscall.Signal // that ends it
		code   int
	}{{"Ctrl-C", syscall.SIGINT, 0}, {"killed", syscall.SIGKILL, -1}} {
		var stdout, stderr bytes.Buffer
		command := w.Gateway.Command(context.Background(), program, "doctor", "--instance", w.ID(), "--profile", "10m", "-o", "json")
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		before := w.runsSoFar()
		eventually(t, 20*time.Second, "the kernel counts", func() bool { fetch(); return w.runsSoFar() > before })
		_ = command.Process.Signal(c.signal)
		_ = command.Wait()
		if got := command.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: exit %d, want %d: %s", c.name, got, c.code, &stderr)
		}
		if c.code == 0 {
			var p collect.Profile
			if err := json.Unmarshal(stdout.Bytes(), &p); err != nil || !strings.Contains(stdout.String(), `"tcx gateway_public"`) || p.Seconds <= 0 {
				t.Errorf("%v: %s", err, &stdout)
			}
			for _, r := range p.Programs {
				if r.Runs == 0 || r.Nanoseconds <= 0 {
					t.Errorf("%+v", r)
				}
			}
		}
		after := w.runsSoFar()
		fetch()
		if now := w.runsSoFar(); now != after {
			t.Errorf("%s: the kernel still counts: %d, then %d", c.name, after, now)
		}
	}
}

// It says what it needs.
func TestDoctorProfileRefuses(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	for _, c := range []struct {
		prepare func()
		command []string
		says    string
	}{
		{func() {}, nil, "no data plane of instance"},
		{w.runs, []string{"setpriv", "--bounding-set=-sys_admin"}, "CAP_SYS_ADMIN is missing"},
	} {
		c.prepare()
		arguments := append(c.command, program, "doctor", "--instance", w.ID(), "--profile", "1s")
		out, err := w.Gateway.Command(context.Background(), arguments[0], arguments[1:]...).CombinedOutput()
		if _, ended := err.(*exec.ExitError); !ended || !strings.Contains(string(out), c.says) || strings.Count(string(out), "\n") != 1 { //nolint:errorlint // of this command
			t.Errorf("%v: %s, want %s", err, out, c.says)
		}
	}
}
