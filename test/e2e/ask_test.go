package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// asked runs a program that functions "ask" ask, until the test ends or stop is called.
func (r *realm) asked(socket, program string, arguments ...string) (stop func()) {
	r.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	line := append([]string{program, socket}, arguments...)
	if filepath.Ext(program) == ".py" { // written a moment ago, it is still open in what another test forks (ETXTBSY)
		line = append([]string{"python3"}, line...)
	}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	said := &strings.Builder{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		end()
		_ = command.Wait() // it is killed
		if r.t.Failed() && said.Len() > 0 {
			r.t.Logf("%s: %s", program, said)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// hasPrograms waits until a daemon has the programs of so many functions.
func (d *daemon) hasPrograms(functions int) {
	d.t.Helper()
	eventually(d.t, 10*time.Second, "the programs are asked", func() bool {
		return strings.Count(d.logged(), "program is asked") >= functions
	})
}

// The guide's programs: one blocks by the path of HTTP, one by the name of TLS, in both modes. What is let through goes on at once, and
// further packets meet no function; what is dropped is reset at once.
func TestGuideAsk(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
			r.webServers()
			tlsServer(t, r.Servers[0], 443)
			folder, byName := t.TempDir(), filepath.Join(r.directory, "by-tls-name")
			if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", byName, "../../examples/ask/by-tls-name").CombinedOutput(); err != nil {
				t.Fatalf("build the example: %v: %s", err, out)
			}
			stop := r.asked(folder+"/by-path", "../../examples/ask/by_http_path.py", "/admin", "/internal")
			stopByName := r.asked(folder+"/by-name", byName, "tracker.example")
			d := r.start(with(r.configuration(), r.interfacesAt(mode)) +
				"events: [{name: log, file: " + folder + "/events}]\n" + r.guide("ask.md", "www.hosta.foo.example.", "www."+hostName(0), "/run/realmgate-ask", folder))
			d.hasPrograms(2)
			lent := func() netip.Addr { return r.mustLend(r.Clients[0], "www."+hostName(0)) }
			if page, err := curl(r.Clients[0], lent(), 80); err != nil || page != hostName(0)+"\n" {
				t.Errorf("a page is %q: %v", page, err)
			}
			if f := d.functions("web")[0]; f.Accepted != 1 || f.Failed != 0 {
				t.Errorf("what ask did: %+v, want one flow accepted", f)
			}
			begun := time.Now()
			if page, err := curl(r.Clients[0], lent(), 80, "--request-target", "/admin/users"); err == nil || !strings.Contains(err.Error(), "reset") {
				t.Errorf("what is denied is %q, %v: want a reset", page, err)
			}
			t.Logf("a reset after %v", time.Since(begun))
			for _, target := range []string{"//admin", "/%61dmin/", "/./admin", "/x/..//admin?y", "http://www." + hostName(0) + "/admin"} {
				if page, err := curl(r.Clients[0], lent(), 80, "--path-as-is", "--request-target", target); err == nil || !strings.Contains(err.Error(), "reset") {
					t.Errorf("%s is %q, %v: want a reset", target, page, err)
				}
			}
			large := strings.Repeat("x", 6000) // its head comes in several segments
			if page, err := curl(r.Clients[0], lent(), 80, "--header", "X: "+large, "--request-target", "/"+large[:2000]); err != nil || page != hostName(0)+"\n" {
				t.Errorf("a long request is %q: %v", page, err)
			}
			at := netip.AddrPortFrom(r.Servers[0].IP, 443)
			if err := reachTLS(r.Hosts()[0], at, "www.example.net"); err != nil {
				t.Errorf("a name that may be reached: %v", err)
			}
			for _, name := range []string{"tracker.example", "www.Tracker.example"} {
				if err := reachTLS(r.Hosts()[0], at, name); err == nil || !strings.Contains(err.Error(), "reset") {
					t.Errorf("%s: %v, want a reset", name, err)
				}
			}
			d.explains("port 443 would pass", r.Hosts()[0].IP.String(), "--to", r.Servers[0].IP.String(), "--protocol", "tcp", "--port", "443")

			// Where a program is away and its function fails open, nobody is kept from anything.
			stopByName()
			eventually(t, 10*time.Second, "a page that was denied", func() bool { return reachTLS(r.Hosts()[0], at, "tracker.example") == nil })
			r.asked(folder+"/by-name", byName, "tracker.example")
			d.hasPrograms(3)
			eventually(t, 10*time.Second, "no program is away", func() bool { return d.warning("its program is away") == "" })

			// The other dies, and one takes its place: until then the function fails, which is closed here.
			stop()
			eventually(t, 10*time.Second, "its program is away", func() bool { return d.warning("its program is away") != "" })
			if page, err := curl(r.Clients[0], lent(), 80, "--max-time", "2"); err == nil {
				t.Errorf("without the program a page is %q", page)
			}
			r.asked(folder+"/by-path", "../../examples/ask/by_http_path.py", "/admin")
			d.hasPrograms(4)
			if page, err := curl(r.Clients[0], lent(), 80); err != nil || page != hostName(0)+"\n" {
				t.Errorf("with the program again a page is %q: %v", page, err)
			}
			if got := kinds(told(t, folder+"/events")); got != "start program_failed program_recovered program_failed program_recovered" {
				t.Errorf("told are %s", got)
			}
		})
	}
}

// A first packet is asked about before its flow opens, in either direction and of every protocol.
func TestAskAboutPackets(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
			r.webServers()
			webServer(t, r.Hosts()[0], 5201, hostName(0))
			r.echoServers()
			socket := filepath.Join(t.TempDir(), "by-packet")
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}", r.interfacesAt(mode)) +
				fmt.Sprintf("chains: [{name: all, functions: [{use: ask, socket: %s}]}]\n", socket))
			r.asked(socket, r.byPacket(), r.Hosts()[1].IP.String())
			d.hasPrograms(1)
			for name, err := range map[string]error{
				"a ping out":      pingOf(r.Hosts()[0], r.Servers[0].IP, 92),
				"by the pool":     fetchedAt(r.Clients[0], r.mustLend(r.Clients[0], "perf."+hostName(0)), 5201, hostName(0)),
				"by its web name": fetched(r.Clients[0], hostName(0)),
			} {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if who, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(r.mustLend(r.Clients[0], "echo."+hostName(0)))); err != nil {
				t.Errorf("UDP: %q, %v", who, err)
			}
			if err := pingOf(r.Hosts()[1], r.Servers[0].IP, 92); err == nil {
				t.Error("the host whose packets are dropped has an answer")
			}
			if d.counted("held_for_verdict") == 0 || d.counted("drop_denied") == 0 {
				t.Error("nothing was counted")
			}
		})
	}
}

func fetched(from netns.Node, host string) error {
	page, err := fetchByName(from, "www."+host)
	if err == nil && !strings.Contains(page, host) {
		err = fmt.Errorf("the page is %q", page)
	}
	return err
}

func fetchedAt(from netns.Node, at netip.Addr, port int, host string) error {
	page, err := curl(from, at, port)
	if err == nil && !strings.Contains(page, host) {
		err = fmt.Errorf("the page is %q", page)
	}
	return err
}

// byPacket is where that program is.
func (r *realm) byPacket() string {
	r.t.Helper()
	program := filepath.Join(r.directory, "by_packet.py")
	if err := os.WriteFile(program, []byte(byPacket), 0o700); err != nil {
		r.t.Fatal(err)
	}
	return program
}

// byPacket drops packets of an address, which it reads in them.
const byPacket = `#!/usr/bin/env python3
import base64, json, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    gateway = listener.accept()[0].makefile("rw")
    for line in gateway:
        q = json.loads(line)
        ip = base64.b64decode(q["data"])
        bad = socket.inet_aton(sys.argv[2]) in (ip[12:16], ip[16:20])
        gateway.write(json.dumps({"id": q["id"], "verdict": "drop" if bad else "continue"}) + "\n")
        gateway.flush()
`

// tlsServer answers handshakes of TLS at a node's port, for whatever name.
func tlsServer(t *testing.T, at netns.Node, port int) {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:%d", at.IP, port))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
}

// reachTLS has a handshake with a server, for a name.
func reachTLS(from netns.Node, to netip.AddrPort, name string) error {
	c, err := from.DialContext(context.Background(), "tcp4", to.String())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(awaited[true])); err != nil {
		return err
	}
	return tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() //nolint:gosec // whose certificate it is, is not the question
}
