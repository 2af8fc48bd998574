package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// The ports on the hosts behind their services' 80 and 443.
const hostHTTP, hostHTTPS = 8080, 8443

// site is a name that stands for ports of a host, which count from 0.
type site struct {
	name  string
	host  int
	ports []int // 80 and 443
}

// publish is the gateway's configuration: every host with its sites, and a pool
// of so many addresses.
func (w *world) publish(pool int, sites []site) string {
	w.t.Helper()
	g := w.Gateway
	var hosts strings.Builder
	for i, h := range g.Hosts {
		fmt.Fprintf(&hosts, "  - name: %s.foo.example.\n    address: %s\n    services:\n", hostName(i), h.IP)
		for _, s := range sites {
			if s.host == i {
				hosts.WriteString(serviceEntry(s))
			}
		}
	}
	var addresses []string
	for a := g.Pool.Addr(); len(addresses) < pool; a = a.Next() {
		if !g.Pool.Contains(a) {
			w.t.Fatalf("a pool of %d addresses: %s has fewer", pool, g.Pool)
		}
		addresses = append(addresses, a.String())
	}
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "%s:53", private: "%s:53", upstream: ["%s:53"]}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
capacity: 100000
hosts:
%s`, strings.Join(g.Public, ", "), strings.Join(g.Private, ", "), g.PublicAddress, g.PrivateAddress, unboundIP,
		strings.Join(addresses, ", "), g.Outbound, hosts.String())
}

func serviceEntry(s site) string {
	to := map[int]int{80: hostHTTP, 443: hostHTTPS}
	if len(s.ports) == 1 {
		return fmt.Sprintf("      - {name: %s, protocol: tcp, port: %d, to: %d}\n", s.name, s.ports[0], to[s.ports[0]])
	}
	var ports []string
	for _, p := range s.ports {
		ports = append(ports, fmt.Sprintf("tcp/%d:%d", p, to[p]))
	}
	return fmt.Sprintf("      - {name: %s, ports: [%s]}\n", s.name, strings.Join(ports, ", "))
}

// hostName is what a host's back end calls itself.
func hostName(i int) string { return fmt.Sprintf("host%d", i+1) }

// run starts realmgate in the gateway's namespace and waits until it serves. At
// the end of the test it is stopped, and what it left is removed.
func (w *world) run(configuration string) {
	w.t.Helper()
	instance := w.ID()
	config := filepath.Join(w.directory, "realmgate.yaml")
	write(w.t, config, configuration)
	daemon := w.server(w.Gateway.Namespace, program, "run", "-c", config, "--instance", instance)
	w.t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		_ = os.RemoveAll(filepath.Join("/sys/fs/bpf/realmgate", instance))
		_ = os.Remove("/run/realmgate/" + instance + ".lock")
		_ = os.Remove(client.SocketPath(instance))
		_ = os.Remove("/var/lib/realmgate/" + instance + ".db")
		_ = os.RemoveAll("/var/lib/realmgate/" + instance + ".lists")
		if w.t.Failed() {
			text, _ := os.ReadFile(filepath.Join(w.directory, "servers.log"))
			w.t.Logf("the servers' log:\n%s", text)
		}
	})
	eventually(w.t, time.Minute, "the daemon serves", func() bool {
		_, err := w.status()
		return err == nil
	})
}

// status is what the gateway says of itself.
func (w *world) status() (client.Status, error) {
	var status client.Status
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	out, err := w.Gateway.Command(ctx, program, "status", "-o", "json", "--instance", w.ID()).Output()
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	return status, err
}

// dropped is how many packets ended with each reason.
func (w *world) dropped() string {
	status, err := w.status()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, r := range status.Reasons {
		if r.Packets > 0 {
			lines = append(lines, fmt.Sprintf("%s %d", r.Reason, r.Packets))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// refusals are the questions that got no address, and those that were refused one.
func (w *world) refusals() (exhausted, refused uint64) {
	w.t.Helper()
	status, err := w.status()
	if err != nil {
		w.t.Error(err)
		return 0, 0
	}
	return status.DNS.Exhausted, status.DNS.Distrusted
}

// directNames are served without the gateway, at addresses of the server.
var directNames = []string{"d1.direct.example.", "d2.direct.example.", "d3.direct.example."}

// lay lays a realm with hosts that serve sites, the same without the gateway,
// and a resolver; nothing runs on the gateway yet. Sites whose names are in own
// have certificates of their own, the others a wildcard's.
func lay(world *world, own ...string) *certifier {
	world.t.Helper()
	certificates := world.newCertifier()
	certificates.issue("wildcard", "*.foo.example")
	certificates.issue("direct", "*.direct.example")
	for _, name := range own {
		certificates.issue(name, name)
	}
	for i, h := range world.Hosts() {
		world.webHost(h, hostName(i), hostHTTP, hostHTTPS, certificates, "wildcard", own...)
	}
	server := world.Servers[0]
	addresses := map[string]netip.Addr{"ready.example.": rootAddress}
	for i, name := range directNames {
		addresses[name] = webAddress(i)
		world.address(server, webAddress(i))
	}
	world.webHost(server, "direct", 80, 443, certificates, "direct")
	world.serve(&names{
		self: rootZone, delegations: []delegation{{"foo.example.", "ns.foo.example.", world.Gateway.PublicAddress}},
		addresses: fixed(addresses),
	}, server.Namespace, rootAddress)
	world.unbound(world.Resolver.Namespace, unboundIP, "")
	return certificates
}

// newGateway lays the realm, and starts the gateway.
func newGateway(world *world, pool int, sites []site, own ...string) *certifier {
	world.t.Helper()
	certificates := lay(world, own...)
	world.run(world.publish(pool, sites))
	return certificates
}
