package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// unending goes on for minutes unless somebody ends it.
var unending = []string{"run", "nat44-establish", "--dut", "realmgate,nftables", "--sessions", "1000", "--repeat", "1000"}

// Ctrl-C in the middle: what was measured is shown, and everything is put back.
func TestBenchInterrupted(t *testing.T) {
	folder := t.TempDir()
	m := newMeasuring(t, append(unending, "--out", folder)...)
	before := settings(t)
	m.start(t)
	instance := m.untilMeasures(t)
	_ = m.Process.Signal(syscall.SIGINT)
	if code := m.wait(t); code != exitError || !strings.HasSuffix(m.stderr.String(), "realmgate: interrupted\n") {
		t.Errorf("exit %d: %s", code, &m.stderr)
	}
	for _, device := range []string{"realmgate", "nftables"} {
		if !strings.Contains(m.stdout.String(), device) {
			t.Errorf("it does not show what was measured of %s:\n%s", device, &m.stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "result.json")); err != nil {
		t.Error(err)
	}
	if after := settings(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if left := traces(instance); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// What a run that was killed leaves the next one removes and puts back.
func TestBenchKilled(t *testing.T) {
	m := newMeasuring(t, unending...)
	before := settings(t)
	m.start(t)
	instance := m.untilMeasures(t)
	_ = m.Process.Signal(syscall.SIGSTOP) // not in the middle of a look
	for _, left := range []string{"/sys/fs/bpf/realmgate/" + instance, "/run/realmgate/bench-host.json"} {
		if _, err := os.Stat(left); err != nil {
			t.Errorf("it leaves less than this test wants: %v", err)
		}
	}
	_ = m.Process.Kill()
	m.wait(t)
	next := newMeasuring(t, "run", "nat44-establish", "--dut", "realmgate", "--sessions", "1000", "--repeat", "1")
	next.start(t)
	next.mustMeasure(t)
	if after := settings(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if left := traces(instance); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// One at a time: who comes second says so, and waits.
func TestBenchWaitsForAnother(t *testing.T) {
	m := newMeasuring(t, "run", "nat44-establish", "--dut", "nftables", "--sessions", "1000", "--repeat", "1")
	release := hold(t)
	m.start(t)
	m.untilWaits(t)
	if m.stdout.String() != "" {
		t.Errorf("it measured at the same time: %s", &m.stdout)
	}
	release()
	m.mustMeasure(t)
}

// Whoever waits for another may have enough of it.
func TestBenchInterruptedWhileItWaits(t *testing.T) {
	m := newMeasuring(t, unending...)
	defer hold(t)()
	m.start(t)
	m.untilWaits(t)
	_ = m.Process.Signal(syscall.SIGINT)
	if code := m.wait(t); code != exitError || !strings.HasSuffix(m.stderr.String(), "realmgate: interrupted\n") {
		t.Errorf("exit %d: %s", code, &m.stderr)
	}
}

func TestBenchWithoutRoot(t *testing.T) {
	m := newMeasuring(t, "run", "nat44-establish")
	m.Dir = "/"
	if os.Geteuid() == 0 {
		// The test's own folder is closed to others.
		folder, err := os.MkdirTemp("", "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		m.Path = filepath.Join(folder, "realmgate")
		if err := errors.Join(os.Chmod(folder, 0o755), os.Link(os.Args[0], m.Path)); err != nil {
			t.Fatal(err)
		}
		m.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	m.mustFail(t, bench.ErrNotRoot.Error())
}

// A wrong command line is one line and an exit code of its own, before root or
// anything else is asked for.
func TestBenchUsage(t *testing.T) {
	for args, want := range map[string]string{
		"run":                             "give a scenario: see realmgate bench list",
		"run nat44-etablish":              `there is no scenario "nat44-etablish": did you mean nat44-establish?`,
		"run targets --dut nftable":       `there is no device "nftable": did you mean nftables`,
		"run targets --sessions 0":        "0 sessions: want 1 to 64000000",
		"run targets --repeat x":          `invalid argument "x" for "--repeat" flag`,
		"run targets --setup both":        `--setup "both": want self-clocked or paced`,
		"run replay":                      "replay wants a capture: --pcap FILE",
		"run targets --pcap some.pcap":    "targets has no use for --pcap: leave it out",
		"run targets --external in0,out0": "targets cannot be measured on an external box",
		"run nat44-pdv --external in0":    "--external wants two interfaces, INITIATOR,RESPONDER",
	} {
		r := execute(t.Context(), append([]string{"bench"}, strings.Fields(args)...)...)
		if r.code != exitUsage || !strings.HasPrefix(r.stderr, "realmgate: "+want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: %+v, want %s", args, r, want)
		}
	}
	if r := execute(t.Context(), "bench", "run", "nat44-pdv", "--external", "no-such0,lo"); r.code != exitError || !strings.HasPrefix(r.stderr, "realmgate: there is no interface no-such0 here") {
		t.Errorf("%+v", r)
	}
}

// A missing program is named with its package, before anything is changed.
func TestBenchMissingTools(t *testing.T) {
	m := newMeasuring(t, "run", "nat44-establish", "--dut", "realmgate,iptables,nftables")
	m.Env = append(m.Env, "PATH=/nonexistent")
	defer hold(t)() // it must not even wait for it
	m.mustFail(t, "not installed: iptables needs iptables-legacy-restore, nftables needs nft. "+
		"Run apt-get install iptables nftables, or choose other devices with --dut")
}
