package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// box is a gateway that bench knows nothing of, between two links of a tester.
type box struct{ tester, gateway *netns.Namespace }

// newBox lays the links; EndA is the tester's.
func newBox(t *testing.T, options ...netns.VethOption) box {
	t.Helper()
	l := lab.New(t, "external")
	tester, err := l.Namespace("tester")
	must(t, err)
	gateway, err := l.Namespace("box")
	must(t, err)
	must(t, l.Veth(tester, "in0", gateway, "lan", options...), l.Veth(tester, "out0", gateway, "wan", options...))
	for _, name := range []string{"in0", "out0"} {
		must(t, tester.Up(name))
	}
	for _, name := range []string{"lan", "wan"} {
		must(t, gateway.Up(name))
	}
	must(t, tester.WaitUp(), gateway.WaitUp(), gateway.Address("lan", "10.0.0.1/16"), gateway.Address("wan", "198.19.0.1/16"),
		gateway.SetSysctl("net/ipv4/ip_forward", "1"))
	return box{tester, gateway}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// masquerade makes the box translate as home routers do.
func (b box) masquerade(t *testing.T) {
	t.Helper()
	command := b.gateway.Command(context.Background(), "nft", "-f", "-")
	command.Stdin = strings.NewReader("table ip box { chain out { type nat hook postrouting priority srcnat; oifname wan masquerade; }; }\n")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
}

// measures runs a measurement in the tester's namespace.
func (b box) measures(t *testing.T, arguments ...string) *measuring {
	t.Helper()
	m := newMeasuring(t, append([]string{"run"}, arguments...)...)
	command := b.tester.Command(context.Background(), m.Path, m.Args[1:]...)
	command.Env, command.Stdout, command.Stderr = m.Env, &m.stdout, &m.stderr
	m.Cmd, m.inside = command.Cmd, command
	return m
}

// addresses lists those of the tester's interfaces.
func (b box) addresses(t *testing.T) string {
	t.Helper()
	var text string
	must(t, b.tester.Do(func() error {
		out, err := exec.CommandContext(t.Context(), "ip", "-4", "-o", "address", "show").Output()
		text = string(out)
		return err
	}))
	return text
}

func TestBenchExternal(t *testing.T) {
	b := newBox(t)
	b.masquerade(t)
	folder := t.TempDir()
	m := b.measures(t, "nat44-latency", "--rate", "5000", "--external", "in0,out0", "--sessions", "1000", "--repeat", "1", "--out", folder)
	m.start(t)
	m.mustMeasure(t)
	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	var report bench.Report
	must(t, err, json.Unmarshal(text, &report))
	if len(report.Results) == 0 {
		t.Errorf("no results: %s", text)
	}
	for _, r := range report.Results {
		// A busy machine may disturb every trial; what was measured stands there all the same.
		if r.DUT != "external" || !(r.Trials[0].Value > 0) || r.Gates["translated"].Passed == 0 || r.Gates["complete"].Passed == 0 {
			t.Errorf("%+v", r)
		}
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "the box translates 10.0.0.2 to 198.19.0.1") {
		t.Errorf("notes: %s", notes)
	}
	if left := b.addresses(t); strings.Contains(left, "in0") || strings.Contains(left, "out0") {
		t.Errorf("addresses left: %s", left)
	}
}

// What does not do as a box gets one line that says what to do, and all addresses
// are taken away again.
func TestBenchExternalRefusals(t *testing.T) {
	b := newBox(t)
	for interfaces, want := range map[string]string{
		"in0,eth9": "there is no interface eth9 here: choose among in0, out0",
		"lo,out0":  "lo is no Ethernet interface",
	} {
		b.measures(t, "nat44-throughput", "--external", interfaces, "--sessions", "1000").mustFail(t, want)
	}
	// It forwards nothing from here on.
	must(t, b.gateway.SetSysctl("net/ipv4/ip_forward", "0"))
	b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
		"none of 1000 frames from 10.0.0.2 to 198.19.0.2 came through the box: does it forward, and is in0 its private side?")
	must(t, b.gateway.SetSysctl("net/ipv4/conf/all/arp_ignore", "8")) // answers none
	b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
		"nobody answers ARP for 10.0.0.1 on in0: give the box the address 10.0.0.1/16 there")
	if left := b.addresses(t); strings.Contains(left, "in0") || strings.Contains(left, "out0") {
		t.Errorf("addresses left: %s", left)
	}
	must(t, b.tester.Address("out0", "10.0.9.9/24"))
	b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
		"10.0.9.9/24 is in 10.0.0.0/16, which the test uses: move in0 into a network namespace of its own with the other interface, and run there")
}

func TestBenchExternalWithoutXDP(t *testing.T) {
	t.Run("native mode", func(t *testing.T) {
		b := newBox(t, netns.NativeXDP(netns.EndA, false))
		b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
			"in0 runs no XDP programs in native mode, which the tester needs: choose an interface whose driver does")
	})
	t.Run("redirected frames", func(t *testing.T) {
		b := newBox(t, netns.GRO(netns.EndB, false))
		b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
			"in0 takes no frames from XDP programs, by which the tester sends: choose another; a veth takes them when its other end has GRO (with both up, ethtool -K PEER gro off, and on again)")
	})
	t.Run("down", func(t *testing.T) {
		b := newBox(t)
		must(t, b.tester.Down("out0"))
		b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t, "out0 is down: ip link set out0 up")
	})
}

// The addresses of a run that was killed are taken away by the next one there.
func TestBenchExternalKilled(t *testing.T) {
	b := newBox(t)
	b.masquerade(t)
	m := b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000", "--repeat", "1000")
	m.start(t)
	m.until(t, "it has its addresses", func() bool { return strings.Contains(b.addresses(t), "198.19.0.2/16") })
	_ = m.Process.Signal(syscall.SIGKILL)
	m.wait(t)
	if left := b.addresses(t); !strings.Contains(left, "198.19.0.2/16") {
		t.Fatalf("it leaves nothing: %s", left)
	}
	// The other way round, so that they would be in the way.
	must(t, b.gateway.SetSysctl("net/ipv4/conf/all/arp_ignore", "8"))
	b.measures(t, "nat44-throughput", "--external", "out0,in0", "--sessions", "1000").mustFail(t,
		"nobody answers ARP for 10.0.0.1 on out0: give the box the address 10.0.0.1/16 there")
	if left := b.addresses(t); strings.Contains(left, "in0") || strings.Contains(left, "out0") {
		t.Errorf("addresses left: %s", left)
	}
}
