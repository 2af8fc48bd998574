package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	bpflink "github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A machine with one interface has its flows judged by chains. Who is logged in by SSH when they come stays so, but gets in no
// second time where one connection is the limit; what the machine begins is answered, though nothing else may come in.
func TestSingleMachineWithChains(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) { testSingleMachineWithChains(t, mode) })
	}
}

func testSingleMachineWithChains(t *testing.T, mode string) {
	r := newRealm(t, netns.Options{Clients: 2})
	machine := netns.Node{Namespace: r.Gateway.Namespace, IP: r.Gateway.PublicAddress}
	admin, other := r.Clients[0], r.Clients[1]
	webServer(t, machine, 80, "machine")
	webServer(t, other, 8080, "outside")
	key := filepath.Join(r.directory, "admin_key")
	r.runIn(machine, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	r.sshServer(machine, filepath.Join(r.directory, "auth.log"), "AuthorizedKeysFile "+key+".pub", "StrictModes no", "PermitRootLogin yes")
	shell := r.login(admin, machine.IP, key)
	shell.answers("before the start")
	before := r.settings(machine)
	head := fmt.Sprintf("interfaces: {public: [%s], %s: [%[1]s]}\ncapacity: 16384\nchains:\n", r.Gateway.Public[0], mode)
	const (
		ssh   = "  - {name: ssh, match: {direction: in, protocol: tcp, port: 22}, functions: [{use: connlimit, connections: 1}]}\n"
		web   = "  - {name: web, match: {direction: in, protocol: tcp, port: 80}, functions: [{use: rate-limit, new: 100/s}]}\n"
		rest  = "  - {name: rest, match: {direction: in}, functions: [{use: filter, deny: [0.0.0.0/0]}]}\n"
		leave = "  - {name: leave, match: {direction: out, protocol: tcp, port: 8080}, functions: [{use: filter, deny: [0.0.0.0/0]}]}\n"
	)
	d := r.start(head + ssh + rest)
	shell.answers("behind the chains")
	fetches := func(when string, from netns.Node, to netip.Addr, port int, want string) {
		t.Helper()
		if page, _ := curl(from, to, port, "--connect-timeout", "3"); strings.TrimSpace(page) != want {
			t.Errorf("%s %s gets %q from port %d, want %q", when, from.IP, page, port, want)
		}
	}
	enters := func(when string, from netns.Node, want bool) {
		t.Helper()
		out, err := from.Command(t.Context(), "ssh", append(sshOptions(key), "-o", "ConnectTimeout=3", "root@"+machine.IP.String(), "true")...).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("%s %s gets in: %v, %s", when, from.IP, err, out)
		}
	}
	fetches("at first", other, machine.IP, 80, "")
	fetches("at first", machine, other.IP, 8080, "outside")
	enters("beside the first shell", admin, false)
	enters("first", other, true)
	r.runIn(machine, "ping", "-c", "1", "-W", "5", "-s", "4000", other.IP.String()) // in fragments
	if out, err := other.Command(t.Context(), "ping", "-c", "1", "-W", "1", machine.IP.String()).CombinedOutput(); err == nil {
		t.Errorf("it answers pings: %s", out)
	}
	for port, want := range map[string]string{"22": "would pass", "80": "drop_denied"} {
		if out, err := d.tell("explain", other.IP.String(), "--to", machine.IP.String(), "--protocol", "tcp", "--port", port); err != nil || !strings.Contains(out, want) {
			t.Errorf("explain says of port %s: %v, %s", port, err, out)
		}
	}
	if d.counted("drop_denied") == 0 {
		t.Error("no packet was dropped as drop_denied")
	}
	d.kill()
	shell.answers("without the daemon")
	fetches("without the daemon", other, machine.IP, 80, "")
	d.run()
	if status := d.status(); !status.Adopted || status.Sessions.Used == 0 {
		t.Errorf("adopted %v, %d sessions", status.Adopted, status.Sessions.Used)
	}
	if out, err := d.tell("status"); err != nil || !strings.Contains(out, "sessions") || strings.Contains(out, "mappings") {
		t.Errorf("%v: %s", err, out)
	}
	shell.answers("after another start")
	enters("beside the first shell", admin, false)
	d.write(head + ssh + web + rest + leave)
	if out, err := d.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shell.answers("after the reload")
	fetches("after the reload", other, machine.IP, 80, "machine")
	fetches("after the reload", machine, other.IP, 8080, "")
	d.write(strings.TrimSuffix(head, "chains:\n"))
	if out, err := d.tell("reload"); err == nil || !strings.Contains(out, "chains") {
		t.Errorf("without chains there are no sessions, and a reload says: %v, %s", err, out)
	}
	d.stop()
	shell.answers("after the end")
	if changed := changedLines(before, r.settings(machine)); len(changed) > 0 {
		t.Errorf("of the machine stays changed:\n%s", strings.Join(changed, "\n"))
	}
	if attached, err := machine.Attached(); err != nil || len(attached) > 0 {
		t.Errorf("programs are left at %v: %v", attached, err)
	}
	if n, err := leavingPrograms(machine, r.Gateway.Public[0]); err != nil || n > 0 {
		t.Errorf("%d programs are left where packets leave: %v", n, err)
	}
}

// leavingPrograms counts the programs at tcx where packets leave an interface.
func leavingPrograms(at netns.Node, name string) (n int, err error) {
	err = at.Do(func() error {
		iface, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		found, err := bpflink.QueryPrograms(bpflink.QueryOptions{Target: iface.Attrs().Index, Attach: ebpf.AttachTCXEgress})
		if err == nil {
			n = len(found.Programs)
		}
		return err
	})
	return n, err
}

// sshOptions are those of who logs in with a key.
func sshOptions(key string) []string {
	return []string{"-i", key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"}
}

// shell is a session of SSH that says what it is told.
type shell struct {
	t     *testing.T
	in    io.Writer
	lines chan string
}

// login opens one, until the end of the test.
func (r *realm) login(from netns.Node, to netip.Addr, key string) *shell {
	r.t.Helper()
	command := from.Command(r.t.Context(), "ssh", append(sshOptions(key), "-T", "root@"+to.String(), "cat")...)
	in, err := command.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	s := &shell{r.t, in, make(chan string, 16)}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	r.t.Cleanup(func() { _ = in.Close(); _ = command.Wait() })
	return s
}

// answers wants what is said to come back.
func (s *shell) answers(when string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.in, when); err != nil {
		s.t.Fatalf("%s: %v", when, err)
	}
	select {
	case line := <-s.lines:
		if line != when {
			s.t.Fatalf("%s the shell says %q", when, line)
		}
	case <-time.After(10 * time.Second):
		s.t.Fatalf("%s the shell is silent", when)
	}
}
