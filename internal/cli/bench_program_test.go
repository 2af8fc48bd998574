package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// measuring is a "bench" command line that runs in a process of its own.
type measuring struct {
	*exec.Cmd
	stdout, stderr output
	done           chan struct{}  // closed when it has ended
	inside         *netns.Command // where it runs in a namespace
}

// output can be read while a process writes it.
type output struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// newMeasuring needs root, or a CI that complains that there is none.
func newMeasuring(t *testing.T, arguments ...string) *measuring {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("measuring needs root")
	}
	m := &measuring{Cmd: exec.CommandContext(context.Background(), os.Args[0], append([]string{"bench"}, arguments...)...)}
	m.Env = append(os.Environ(), asProgram+"=1")
	m.Stdout, m.Stderr = &m.stdout, &m.stderr
	return m
}

func (m *measuring) start(t *testing.T) {
	t.Helper()
	start, wait := m.Start, m.Wait
	if m.inside != nil {
		start, wait = m.inside.Start, m.inside.Wait
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	m.done = make(chan struct{})
	go func() { _ = wait(); close(m.done) }()
	t.Cleanup(func() { _ = m.Process.Kill(); <-m.done })
}

// wait waits for its end and returns the exit code, -1 after a signal.
func (m *measuring) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-m.done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("it does not end: %s", &m.stderr)
	}
	return m.ProcessState.ExitCode()
}

// mustFail wants an end with exit code 1 and one line, before which others may
// tell of progress.
func (m *measuring) mustFail(t *testing.T, want string) {
	t.Helper()
	m.start(t)
	code := m.wait(t)
	_, complaint, _ := strings.Cut("\n"+m.stderr.String(), "\nrealmgate: ")
	if code != exitError || m.stdout.String() != "" || complaint != want+"\n" {
		t.Errorf("exit %d, %s\n got %swant realmgate: %s", code, &m.stdout, &m.stderr, want)
	}
}

// mustMeasure wants an end in good order. On a busy machine every trial may have been
// disturbed: that is said, and is no fault of the program.
func (m *measuring) mustMeasure(t *testing.T) {
	t.Helper()
	code := m.wait(t)
	disturbed := code == exitError && strings.Contains(m.stderr.String(), "realmgate: no trial was valid; the first: ")
	if code != exitOK && !disturbed || m.stdout.String() == "" {
		t.Fatalf("exit %d: %s", code, &m.stderr)
	}
}

// until waits for a condition while it runs.
func (m *measuring) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); {
		select {
		case <-m.done:
			t.Fatalf("it ended before %s: %v, %s", what, m.ProcessState, &m.stderr)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s: %s", what, &m.stderr)
		}
	}
}

// untilWaits waits until it says that another measurement is at work.
func (m *measuring) untilWaits(t *testing.T) {
	t.Helper()
	m.until(t, "it says that it waits", func() bool { return strings.Contains(m.stderr.String(), "another bench runs") })
}

// untilMeasures waits until its gateway has forwarded some thousand frames, in
// several rounds, and returns the gateway's instance. Other measurements of the
// machine may come first.
func (m *measuring) untilMeasures(t *testing.T) (instance string) {
	t.Helper()
	m.until(t, "its gateway forwards", func() bool {
		sockets, _ := filepath.Glob("/run/realmgate/bench-*.sock")
		for _, socket := range sockets {
			name := strings.TrimSuffix(filepath.Base(socket), ".sock")
			status, err := client.New(client.Options{Instance: name}).Status(t.Context())
			if err == nil && parentOf(status.PID) == m.Process.Pid && forwarded(status) >= 20_000 {
				instance = name
				return true
			}
		}
		return false
	})
	return instance
}

func forwarded(s client.Status) uint64 {
	for _, r := range s.Reasons {
		if r.Reason == "forwarded" {
			return r.Packets
		}
	}
	return 0
}

func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "\nPPid:")
	_, _ = fmt.Sscan(after, &parent) // 0 for a process that has ended
	return parent
}

// hold takes the machine's lock of measurements until the function it returns is
// called.
func hold(t *testing.T) (release func()) {
	t.Helper()
	if err := os.MkdirAll("/run/realmgate", 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile("/run/realmgate/bench.lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		select {
		case <-ctx.Done():
			t.Fatal("another measurement does not end")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return func() { _ = file.Close() }
}

// settings are what measurements change of the whole machine.
func settings(t *testing.T) string {
	t.Helper()
	defer hold(t)()
	var text strings.Builder
	for _, path := range []string{"/proc/sys/net/netfilter/nf_conntrack_max", "/sys/module/nf_conntrack/parameters/hashsize", "/proc/sys/kernel/sched_rt_runtime_us"} {
		value, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s: %s", path, value)
	}
	if _, err := os.Stat("/run/realmgate/bench-host.json"); err == nil {
		fmt.Fprintln(&text, "a record of settings to put back")
	}
	return text.String()
}

// traces lists what is there of the measurement that the instance belongs to.
func traces(instance string) (found []string) {
	id := instance[:strings.LastIndexByte(instance, '-')]
	for _, pattern := range []string{"/run/netns/rg-%s*", "/run/realmgate-lab/rg-%s*", "/run/realmgate/rg-%s*", "/run/realmgate/%s*", "/sys/fs/bpf/realmgate/%s*"} {
		names, _ := filepath.Glob(fmt.Sprintf(pattern, id))
		found = append(found, names...)
	}
	return found
}
