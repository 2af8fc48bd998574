package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// asUser has tests run the gateway as a user with the capabilities that it needs and no others, as its package does.
var asUser = flag.Bool("user", false, "run the gateway as a user with four capabilities")

const user = 64999 // nobody's

var capabilities = []string{"bpf", "net_admin", "perfmon", "net_bind_service"}

// bounded is a command line with no more than such capabilities, which root keeps and another user is given.
func bounded(capabilities []string, uid int, command ...string) []string {
	set := "-all"
	for _, c := range capabilities {
		set += ",+" + c
	}
	line := []string{"setpriv", "--no-new-privs", "--bounding-set", set}
	if uid != 0 {
		line = append(line, "--reuid", fmt.Sprint(uid), "--regid", fmt.Sprint(uid), "--clear-groups", "--inh-caps", set, "--ambient-caps", set)
	}
	return append(line, command...)
}

// line is the command line that runs a gateway.
func (d *daemon) line(command ...string) []string {
	if !*asUser {
		return command
	}
	return bounded(capabilities, user, command...)
}

// userDirectory is a folder of the test's that the user of the gateway may enter.
func userDirectory(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if *asUser {
		if err := os.Chmod(filepath.Dir(directory), 0o755); err != nil { //nolint:gosec // as said
			t.Fatal(err)
		}
	}
	return directory
}

// give has the user own what the test has put into its folder since, keys and logs among it.
func (d *daemon) give() {
	if !*asUser {
		return
	}
	_ = filepath.WalkDir(filepath.Dir(d.config), func(path string, _ os.DirEntry, _ error) error {
		_ = os.Lchown(path, user, user) // it may have just gone
		return nil
	})
}

// ownMounts begins the program of the tests anew in mounts of its own, where that user has the folders that the package makes.
func ownMounts() error {
	const begun = "REALMGATE_OWN_MOUNTS"
	if os.Getenv(begun) == "" {
		unshare, err := exec.LookPath("unshare")
		if err == nil {
			err = unix.Exec(unshare, append([]string{"unshare", "--mount", "--propagation", "private"}, os.Args...), append(os.Environ(), begun+"=1"))
		}
		return err
	}
	for _, at := range []string{"/run/realmgate", "/var/lib/realmgate"} {
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", at, "tmpfs", 0, fmt.Sprintf("mode=0755,uid=%d,gid=%[1]d", user)); err != nil {
			return fmt.Errorf("mount %s: %w", at, err)
		}
	}
	if err := unix.Mount("bpf", filepath.Dir(pins), "bpf", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount a BPF file system: %w", err)
	}
	if err := os.Mkdir(pins, 0o700); err != nil {
		return err
	}
	return os.Chown(pins, user, user)
}

// storyOfUser are the tests that run as a user, too, in each run of all.
var storyOfUser = []string{
	"TestCapabilitiesOfUser", "TestHandover", "TestKillsMisleadNobody", "TestWebByName", "TestWebByNameFromInside",
}

// What other tests tell of the gateway holds without root.
func TestUser(t *testing.T) {
	if *asUser {
		return // it runs them
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, os.Args[0], "-user", "-test.v", "-test.timeout=4m", "-test.run=^("+strings.Join(storyOfUser, "|")+")$")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range storyOfUser {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s has not run:\n%s", name, out)
		}
	}
}

// The process has no more than the four, and the status is whole after an adoption.
func TestCapabilitiesOfUser(t *testing.T) {
	if !*asUser {
		return // TestUser runs it
	}
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	told := filepath.Join(r.directory, "told")
	if err := os.WriteFile(told, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := with(r.configuration(), "events: [{name: who, command: [/bin/sh, -c, 'cat /proc/self/status >"+told+"; exec cat']}]", "chains: [{name: all, functions: [{use: mirror}]}]")
	d := r.start(text)
	status := func() client.Status { return d.status() }
	before := status()
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	const four = 1<<unix.CAP_BPF | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_PERFMON | 1<<unix.CAP_NET_BIND_SERVICE
	if want := fmt.Sprintf("CapEff:\t%016x\n", four); !strings.Contains(string(own), want) {
		t.Errorf("the process has other capabilities:\n%s", own)
	}
	r.mustReach(r.Clients[0], 0)
	eventually(t, 10*time.Second, "a program of the gateway's tells its capabilities", func() bool {
		child, err := os.ReadFile(told)
		return err == nil && strings.Contains(string(child), "CapEff:\t0000000000000000\n")
	})
	d.kill()
	d.run()
	after := status()
	if !after.Adopted || after.ChainBytes == 0 || after.ChainBytes != before.ChainBytes {
		t.Errorf("adopted %v, chains take %d bytes, before the kill %d", after.Adopted, after.ChainBytes, before.ChainBytes)
	}
	r.mustReach(r.Clients[0], 0)
	d.end(syscall.SIGTERM)
	if left, err := os.ReadDir(filepath.Join(pins, d.instance)); err == nil {
		t.Errorf("a clean stop leaves %v", left)
	}
}

// A capability that is missing is named.
func TestMissingCapability(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	for i, missing := range capabilities {
		line := bounded(slices.Delete(slices.Clone(capabilities), i, i+1), 0, program, "run", "-c", d.config, "--instance", d.instance)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		out, err := r.Gateway.Command(ctx, line[0], line[1:]...).CombinedOutput()
		cancel()
		want := "CAP_" + strings.ToUpper(missing)
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), want) {
			t.Errorf("without %s: %v, %q", want, err, out)
		}
	}
}
