package page

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// gateway is a realm with six hosts that serve pages, a gateway that runs, and people outside.
type gateway struct {
	*netns.Realm
	t         *testing.T
	directory string
	daemon    *netns.Command
}

// newGateway starts one; lines are more of its configuration.
func newGateway(t *testing.T, lines ...string) *gateway {
	t.Helper()
	directory, err := os.MkdirTemp("", "realmgate-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	g := &gateway{lab.NewRealm(t, netns.Options{Prefix: "page", Hosts: 6, Clients: 2, Servers: 1}), t, directory, nil}
	for i, h := range g.Hosts() {
		listener, err := h.Listen("tcp", netip.AddrPortFrom(h.IP, 8080).String())
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "host%d\n", i+1)
		})}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	g.run(g.configuration() + strings.Join(lines, ""))
	return g
}

func (g *gateway) configuration() string {
	var hosts strings.Builder
	for i, h := range g.Hosts() {
		name := fmt.Sprintf("host%d.foo.example.", i+1)
		fmt.Fprintf(&hosts, "  - {name: %s, address: %s, services: [{name: www.%[1]s, protocol: tcp, port: 80, to: 8080}]}\n", name, h.IP)
	}
	at := g.Gateway
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "%s:53", private: "%s:53", upstream: ["198.51.100.53:53"]}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
capacity: 100000
hosts:
%s`, strings.Join(at.Public, ", "), strings.Join(at.Private, ", "), at.PublicAddress, at.PrivateAddress, at.Pool, at.Outbound, hosts.String())
}

// run starts the daemon and waits until it serves. At the end of the test it is stopped, and what it left is removed.
func (g *gateway) run(configuration string) {
	g.t.Helper()
	config := filepath.Join(g.directory, "realmgate.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		g.t.Fatal(err)
	}
	instance, log := g.ID(), filepath.Join(g.directory, "log")
	g.start()
	g.t.Cleanup(func() {
		g.stop()
		_ = os.RemoveAll(filepath.Join("/sys/fs/bpf/realmgate", instance))
		_ = os.Remove("/run/realmgate/" + instance + ".lock")
		_ = os.Remove(client.SocketPath(instance))
		_ = os.Remove("/var/lib/realmgate/" + instance + ".db")
		_ = os.RemoveAll("/var/lib/realmgate/" + instance + ".lists")
		if text, err := os.ReadFile(log); err == nil && g.t.Failed() {
			g.t.Logf("the gateway's log:\n%s", text)
		}
	})
}

// start starts the daemon of the configuration that was written, and waits until it serves.
func (g *gateway) start() {
	g.t.Helper()
	log, err := os.OpenFile(filepath.Join(g.directory, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		g.t.Fatal(err)
	}
	defer log.Close() // the process has its own copy
	g.daemon = g.Gateway.Command(context.Background(), program, "run", "-c", filepath.Join(g.directory, "realmgate.yaml"), "--instance", g.ID())
	g.daemon.Stdout, g.daemon.Stderr = log, log
	if err := g.daemon.Start(); err != nil {
		g.t.Fatal(err)
	}
	eventually(g.t, time.Minute, "the daemon serves", func() bool { _, err := g.tell("status"); return err == nil })
}

func (g *gateway) stop() {
	_ = g.daemon.Process.Signal(syscall.SIGTERM)
	_ = g.daemon.Wait()
}

// tell runs a command of realmgate at the gateway.
func (g *gateway) tell(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := g.Gateway.Command(ctx, program, append(args, "--instance", g.ID())...).CombinedOutput()
	return string(out), err
}

// link runs realmgate page until the test ends, and returns its link.
func (g *gateway) link() string {
	g.t.Helper()
	command := g.Gateway.Command(context.Background(), program, "page", "--instance", g.ID())
	out, err := command.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// offerTime is for how long an answer waits for its client.
const offerTime = 2 * time.Second

// visit has a client ask for a name by dig, and fetch its page by curl; and again where a busy machine took longer for that than an
// answer waits.
func (g *gateway) visit(from netns.Node, name string) (address netip.Addr) {
	g.t.Helper()
	eventually(g.t, time.Minute, name+" is reached", func() bool {
		asked := time.Now()
		address = g.ask(from, name)
		out, err := from.Command(context.Background(), "curl", "-sS", "--max-time", "10", "http://"+address.String()+"/").CombinedOutput()
		if err != nil && time.Since(asked) < offerTime {
			g.t.Fatalf("%v: %s", err, out)
		}
		return err == nil
	})
	return address
}

func (g *gateway) ask(from netns.Node, name string) netip.Addr {
	g.t.Helper()
	out, err := from.Command(context.Background(), "dig", "+short", "+tcp", "+time=4", "+tries=2", "@"+g.Gateway.PublicAddress.String(), name).CombinedOutput()
	if err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	address, err := netip.ParseAddr(strings.TrimSpace(string(out)))
	if err != nil {
		g.t.Fatalf("dig %s: %s", name, out)
	}
	return address
}
