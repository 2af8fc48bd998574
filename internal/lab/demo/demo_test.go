package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
)

// program is the realmgate program that TestMain builds.
var program string

func TestMain(m *testing.M) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "FAIL: the demo's tests need root")
			os.Exit(1)
		}
		fmt.Println("skipped: the demo's tests need root")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	directory, err := os.MkdirTemp("", "realmgate-demo-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)
	if err := os.Chmod(directory, 0o755); err != nil { // one test is not root
		panic(err)
	}
	program = filepath.Join(directory, "realmgate")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../../cmd/realmgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building realmgate:", err)
		return 1
	}
	return m.Run()
}

// left lists what there is of demos on this machine.
func left(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"/" + pinDirectory, runDirectory, stateDirectory, "/run/realmgate-lab/rg-", "/run/netns/rg-"} {
		if !strings.HasSuffix(pattern, "-") {
			pattern += "/"
		}
		found, err := filepath.Glob(pattern + "demo-*")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func nothingLeft(t *testing.T) {
	t.Helper()
	if all := left(t); len(all) > 0 {
		t.Errorf("left behind: %q", all)
	}
}

// tell runs the program and returns what it wrote.
func tell(t *testing.T, arguments ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), complaint.String(), command.ProcessState.ExitCode()
}

func TestEveryStepIsSeen(t *testing.T) {
	stdout, stderr, code := tell(t, "demo", "--json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	var results []Result
	if err := json.Unmarshal([]byte(stdout), &results); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, stdout)
	}
	steps := new(story).steps()
	if len(results) != len(steps) {
		t.Fatalf("%d steps, want %d", len(results), len(steps))
	}
	for i, r := range results {
		if !r.OK || r.Error != "" || r.Step != i+1 || r.What != steps[i].what || len(r.Seen) == 0 || r.Seconds <= 0 {
			t.Errorf("step %d: %+v", i+1, r)
		}
	}
	if got := results[3].Seen["address"]; got != results[2].Seen["address"] {
		t.Errorf("the second host got %v, want the first one's %v", got, results[2].Seen["address"])
	}
	nothingLeft(t)
}

func TestAWrongPageFailsTheDemo(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		err := Run(t.Context(), Options{Out: &out, JSON: asJSON, Executable: program, greeting: func(name string) string {
			return strings.ReplaceAll(greeting(name), "hosta", "somebody else")
		}})
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "step 3") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got the error %v", err)
		}
		for _, want := range []string{"the page that ann gets", "Hello, this is hosta.", "Hello, this is somebody else.", "data plane ready"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, out.String())
			}
		}
		var results []Result
		if asJSON {
			if err := json.Unmarshal(out.Bytes(), &results); err != nil {
				t.Fatal(err)
			}
			if len(results) != 3 || !results[1].OK || results[2].OK || len(results[2].Log) == 0 {
				t.Errorf("got %+v", results)
			}
		}
		nothingLeft(t)
	}
}

// trigger calls do once when what is written holds a text.
type trigger struct {
	written bytes.Buffer
	text    string
	do      func()
}

// Write keeps what is written.
func (w *trigger) Write(p []byte) (int, error) {
	_, _ = w.written.Write(p) // a Buffer takes everything
	if w.do != nil && strings.Contains(w.written.String(), w.text) {
		w.do()
		w.do = nil
	}
	return len(p), nil
}

func TestARunningDemoIsNotRemoved(t *testing.T) {
	removed := errors.New("not tried")
	out := &trigger{text: "4. The same", do: func() {
		running, _ := filepath.Glob(runDirectory + "/demo-*.sock")
		for _, path := range running {
			removed = Remove(strings.TrimSuffix(filepath.Base(path), ".sock"))
		}
	}}
	if err := Run(t.Context(), Options{Out: out, Executable: program}); err != nil {
		t.Error(err)
	}
	if removed == nil || !strings.Contains(removed.Error(), "its owner still runs") {
		t.Errorf("it was removed: %v", removed)
	}
	nothingLeft(t)
}

func TestAnInterruptCleansUp(t *testing.T) {
	for _, moment := range []string{"1. Who", "2. Three", "4. The same", "6. A stranger", "No gateway process"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &trigger{text: moment, do: cancel}
		err := Run(ctx, Options{Out: out, Executable: program})
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.HasSuffix(out.written.String(), "Interrupted: cleaning up.\n") {
			t.Errorf("at %q: %v\n%s", moment, err, out.written.String())
		}
		nothingLeft(t)
	}
}

func TestAGatewayThatDoesNotStart(t *testing.T) {
	var out bytes.Buffer
	err := Run(t.Context(), Options{Out: &out, Executable: "/bin/false"})
	if !errors.Is(err, ErrFailed) || !strings.Contains(out.String(), "it ended: exit status 1") {
		t.Errorf("%v\n%s", err, out.String())
	}
	nothingLeft(t)
}

func TestKeepAndRemove(t *testing.T) {
	stdout, stderr, code := tell(t, "demo", "--keep")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	found := regexp.MustCompile(`demo --remove (demo-[0-9a-f]{8})\n`).FindStringSubmatch(stdout)
	if found == nil {
		t.Fatalf("it does not say how to remove it:\n%s", stdout)
	}
	id := found[1]
	t.Cleanup(func() { _ = Remove(id) })
	if _, err := client.New(client.Options{Instance: id}).Status(t.Context()); err != nil {
		t.Errorf("the gateway is not up: %v", err)
	}
	if names, _ := filepath.Glob("/run/netns/rg-" + id + "-*"); len(names) != 10 {
		t.Errorf("the lab is not up: %q", names)
	}
	story, _, _ := strings.Cut(stdout, "Everything stays up")
	for line := range strings.Lines(story) {
		if len(line) > 80 || strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("%d columns, or blanks at its end: %q", len(line)-1, line)
		}
	}
	if strings.ContainsRune(stdout, '\x1b') {
		t.Error("colours without a terminal")
	}
	// Another demo leaves this one alone.
	if _, stderr, code := tell(t, "demo", "--json"); code != 0 {
		t.Errorf("a second demo beside it: %s", stderr)
	}
	if _, err := client.New(client.Options{Instance: id}).Status(t.Context()); err != nil {
		t.Errorf("after a second demo the first is gone: %v", err)
	}
	stdout, stderr, code = tell(t, "demo", "--remove", id)
	if code != 0 || stdout != id+" is removed\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	nothingLeft(t)
	for _, wrong := range []string{id, "../realmgate", ""} {
		if _, stderr, code := tell(t, "demo", "--remove", wrong); code != 1 || !strings.Contains(stderr, "none is left up") {
			t.Errorf("--remove %q: exit code %d: %s", wrong, code, stderr)
		}
	}
}

// startUntil starts a command, and returns when its output has a text.
func startUntil(t *testing.T, command *exec.Cmd, text string) {
	t.Helper()
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<16)
	for written := ""; !strings.Contains(written, text); {
		n, err := output.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %s", err, written)
		}
		written += string(buffer[:n])
	}
}

// withOtherMounts makes a command that runs as below ip netns exec: with a /sys of
// its own, without the BPF file system.
func withOtherMounts(t *testing.T, arguments string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), "sh", "-c",
		`umount -l /sys && mount -t sysfs sysfs /sys && exec "$0" `+arguments, program)
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return command
}

func TestOtherMounts(t *testing.T) {
	out, _ := withOtherMounts(t, "demo --keep").CombinedOutput()
	if want := "realmgate: " + errHidden.Error() + "\n"; string(out) != want {
		t.Errorf("--keep: %q, want %q", out, want)
	}
	command := withOtherMounts(t, "demo")
	startUntil(t, command, "No gateway process")
	_ = command.Process.Signal(syscall.SIGINT)
	if err := command.Wait(); err == nil || command.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	nothingLeft(t)
}

// A demo that was killed leaves its files; the next one removes them.
func TestAKilledDemoIsSweptUp(t *testing.T) {
	command := exec.CommandContext(t.Context(), program, "demo")
	startUntil(t, command, "4. The same")
	_ = command.Process.Kill()
	_ = command.Wait()
	if len(left(t)) == 0 {
		t.Error("the killed demo left nothing: this test tests nothing")
	}
	if _, stderr, code := tell(t, "demo", "--json"); code != 0 {
		t.Errorf("the next demo: %s", stderr)
	}
	nothingLeft(t)
}

func TestWithoutRoot(t *testing.T) {
	for _, arguments := range [][]string{{"demo"}, {"demo", "chain"}, {"demo", "protect"}} {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := command.CombinedOutput()
		want := "realmgate: " + ErrNotRoot.Error() + "\n"
		if err == nil || command.ProcessState.ExitCode() != 1 || string(out) != want {
			t.Errorf("%v: %v: %q, want %q", arguments, err, out, want)
		}
	}
}
