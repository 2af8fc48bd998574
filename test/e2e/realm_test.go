package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// realm is a laid topology.
type realm struct {
	*netns.Realm
	t         *testing.T
	directory string
}

func newRealm(t *testing.T, options netns.Options) *realm {
	t.Helper()
	options.Prefix = "e2e"
	return &realm{Realm: lab.NewRealm(t, options), t: t, directory: userDirectory(t)}
}

// configuration is the first gateway's YAML; see configurationOf.
func (r *realm) configuration() string { return configurationOf(r.Gateway) }

// configurationOf is a gateway's YAML with three services on each host: www
// over TCP 80 → 8080, echo over UDP 7 and perf over TCP 5201; its own name
// opens ping. The names of hosts count from 1. Each key but hosts has one line.
func configurationOf(g *netns.Gateway) string {
	var hosts strings.Builder
	for i, h := range g.Hosts {
		hosts.WriteString(hostEntry(i, h.IP))
	}
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "%s:53", private: "%s:53", upstream: ["198.51.100.53:53"]}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
capacity: 100000
hosts:
%s`, strings.Join(g.Public, ", "), strings.Join(g.Private, ", "), g.PublicAddress, g.PrivateAddress, g.Pool, g.Outbound,
		hosts.String())
}

// interfacesAt has programs at both interfaces of the gateway in a mode.
func (r *realm) interfacesAt(mode string) string {
	return fmt.Sprintf("interfaces: {public: [%s], private: [%s], %s: [%[1]s, %[2]s]}", r.Gateway.Public[0], r.Gateway.Private[0], mode)
}

func hostEntry(i int, address netip.Addr) string {
	name := hostName(i)
	return fmt.Sprintf(`  - name: %s
    address: %s
    open: [icmp]
    services:
      - {name: www.%s, protocol: tcp, port: 80, to: 8080}
      - {name: echo.%s, protocol: udp, port: 7}
      - {name: perf.%s, protocol: tcp, port: 5201}
`, name, address, name, name, name)
}

// with replaces the lines of a configuration that begin with the same keys as
// lines, and puts lines whose key is new before the hosts. A line that ends
// with its key's colon removes it.
func with(configuration string, lines ...string) string {
	for _, line := range lines {
		key := line[:strings.Index(line, ":")+1]
		if line == key {
			line = ""
		} else {
			line += "\n"
		}
		at := strings.Index("\n"+configuration, "\n"+key)
		length := 0
		if at < 0 {
			at = strings.Index(configuration, "hosts:")
		} else {
			length = strings.Index(configuration[at:], "\n") + 1
		}
		configuration = configuration[:at] + line + configuration[at+length:]
	}
	return configuration
}

// without removes every line that contains text.
func without(configuration, text string) string {
	var kept strings.Builder
	for line := range strings.Lines(configuration) {
		if !strings.Contains(line, text) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func hostName(i int) string { return fmt.Sprintf("host%d.foo.example.", i+1) }

// resolver runs unbound at the resolver's address; it knows where foo.example
// is served.
func (r *realm) resolver(settings ...string) *netns.Command {
	r.t.Helper()
	return r.resolverAt(*r.Resolver, strings.Join(settings, ""), fmt.Sprintf("stub-zone:\n  name: foo.example.\n  stub-addr: %s\n  stub-no-cache: no\n", r.Gateway.PublicAddress))
}

// resolverAt is resolver at a node, with other settings and zones.
func (r *realm) resolverAt(at netns.Node, settings, zones string) *netns.Command {
	r.t.Helper()
	config := filepath.Join(r.directory, at.Name()+".unbound.conf")
	text := fmt.Sprintf(`server:
  interface: %s
  access-control: 0.0.0.0/0 allow
  username: ""
  chroot: ""
  directory: %s
  pidfile: ""
  use-syslog: no
  logfile: %s.log
  do-ip6: no
  num-threads: 1
  module-config: "iterator"
  local-zone: "test.example." static
  local-data: "outside.test.example. 300 IN A 198.51.100.10"
%s%s`, at.IP, r.directory, config, settings, zones)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	unbound := at.Command(context.Background(), "unbound", "-d", "-p", "-c", config)
	if err := unbound.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, 10*time.Second, "unbound answers", func() bool {
		return at.Command(context.Background(), "dig", "+time=1", "+tries=1", "@"+at.IP.String(), "outside.test.example").Run() == nil
	})
	return unbound
}

// dig asks the resolver from a node and returns the A records.
func dig(from netns.Node, server netip.Addr, name string) ([]netip.Addr, error) {
	out, err := from.Command(context.Background(), "dig", "+short", "+time=4", "+tries=2", "@"+server.String(), name).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("dig %s: %w: %s", name, err, out)
	}
	var found []netip.Addr
	for line := range strings.Lines(string(out)) {
		if a, err := netip.ParseAddr(strings.TrimSpace(line)); err == nil {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("dig %s: no address in %q", name, out)
	}
	return found, nil
}

// named is the command to run a program at a node as on a machine that asks the resolver.
func (r *realm) named(ctx context.Context, at netns.Node, program string, arguments ...string) *netns.Command {
	r.t.Helper()
	own := filepath.Join(r.directory, "resolv.conf")
	if err := os.WriteFile(own, []byte("nameserver "+r.Resolver.IP.String()+"\n"), 0o644); err != nil { //nolint:gosec // as the machine's own
		r.t.Fatal(err)
	}
	return at.Command(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "sh", "-c",
		`mount --bind "$0" /etc/resolv.conf && exec "$@"`, own, program}, arguments...)...)
}

// curl fetches a page from a node.
func curl(from netns.Node, address netip.Addr, port int, more ...string) (string, error) {
	arguments := append([]string{"-sS", "--max-time", "10", fmt.Sprintf("http://%s:%d/", address, port)}, more...)
	out, err := from.Command(context.Background(), "curl", arguments...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("curl %s:%d: %w: %s", address, port, err, out)
	}
	return string(out), nil
}

// webServers makes every host answer on port 8080 with its name.
func (r *realm) webServers() {
	r.t.Helper()
	for i, h := range r.Hosts() {
		webServer(r.t, h, 8080, hostName(i))
	}
}

// accepts hands over each TCP connection that comes to a node's port, until the test ends.
func accepts(t *testing.T, at netns.Node, port int, handle func(net.Conn)) {
	t.Helper()
	listener, err := at.Listen("tcp", netip.AddrPortFrom(at.IP, uint16(port)).String()) //nolint:gosec // a port
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(connection)
		}
	}()
}

// webServer answers GET with a line of text, and POST with the number of
// octets that it was sent.
func webServer(t *testing.T, at netns.Node, port int, text string) {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:%d", at.IP, port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: page(text), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}
