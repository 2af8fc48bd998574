package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// nginx serves a page of a hundred octets on port 8080 of a host.
func (r *realm) nginx(at netns.Node) {
	r.t.Helper()
	directory := r.t.TempDir()
	// Its workers run as somebody else.
	if err := os.Chmod(directory, 0o755); err != nil { //nolint:gosec // meant to be read
		r.t.Fatal(err)
	}
	config := filepath.Join(directory, "nginx.conf")
	text := fmt.Sprintf(`daemon off;
user root;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 512; }
http {
  access_log off;
  keepalive_requests 10000000;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server { listen %[2]s:8080; location / { return 200 "%[3]s"; } }
}
`, directory, at.IP, strings.Repeat("x", 100))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	command := at.Command(context.Background(), "nginx", "-c", config)
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, 10*time.Second, "nginx serves", func() bool {
		_, err := curl(at, at.IP, 8080)
		return err == nil
	})
}

// nginx behind the gateway, and wrk outside: one name asked, many connections
// and many requests on each.
func TestWebServerUnderLoad(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1, Resolver: true})
	r.nginx(r.Hosts()[0])
	r.resolver()
	d := r.start(r.configuration())
	client := r.RemoteClients[0]
	addresses, err := dig(client, r.Resolver.IP, "www."+hostName(0))
	if err != nil {
		t.Fatal(err)
	}
	page, err := curl(client, addresses[0], 80)
	if err != nil || page != strings.Repeat("x", 100) {
		t.Fatalf("page %q, %v", page, err)
	}
	out, err := client.Command(context.Background(), "wrk", "-t", "1", "-c", "16", "-d", "2s",
		fmt.Sprintf("http://%s/", addresses[0])).CombinedOutput()
	text := string(out)
	if err != nil || strings.Contains(text, "Socket errors") || strings.Contains(text, "Non-2xx") || !strings.Contains(text, "Requests/sec") {
		t.Errorf("wrk: %v\n%s\n%v", err, text, d.status().Reasons)
	}
	t.Log(text)
}

// Bulk transfers in every direction; how fast is for benchmarks to say.
func TestTransfersInEveryDirection(t *testing.T) {
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	host, server, client := r.Hosts()[0], r.Servers[0], r.Clients[0]
	iperfServer(t, server, 5201)
	iperfServer(t, host, 5201)
	d := r.start(strings.Replace(r.configuration(), "open: [icmp]", "open: all", 1))
	for _, c := range []struct {
		what  string
		from  netns.Node
		to    func() netip.Addr
		flags []string
	}{
		{"from inside, sending", host, func() netip.Addr { return server.IP }, nil},
		{"from inside, receiving", host, func() netip.Addr { return server.IP }, []string{"-R"}},
		{"from inside, four streams at once both ways", host, func() netip.Addr { return server.IP }, []string{"-P", "4", "--bidir"}},
		{"from inside, datagrams", host, func() netip.Addr { return server.IP }, []string{"-u", "-b", "20M"}},
		{"from outside, sending", client, func() netip.Addr { return r.mustLend(client, "perf."+hostName(0)) }, nil},
		{"from outside, receiving", client, func() netip.Addr { return r.mustLend(client, "perf."+hostName(0)) }, []string{"-R"}},
		{"from outside to the host's own name, datagrams", client, func() netip.Addr { return r.mustLend(client, hostName(0)) }, []string{"-u", "-b", "20M"}},
	} {
		done, err := iperf(c.from, c.to(), 5201, append(c.flags, "-t", "1")...)
		octets := max(done.End.Received.Bytes, done.End.Sum.Bytes)
		if err != nil || octets < 1e6 {
			t.Errorf("%s: %v octets, %v\n%v", c.what, octets, err, d.status().Reasons)
		}
		t.Logf("%s: %.0f Mbit", c.what, octets*8/1e6)
	}
	if n := d.counted("drop_malformed") + d.counted("drop_internal"); n > 0 {
		t.Errorf("%d packets met what cannot be: %v", n, d.status().Reasons)
	}
}
