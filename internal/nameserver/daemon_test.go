package nameserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// program runs a real server until the test ends.
func program(t *testing.T, path string, arguments ...string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: install knot and nsd", path)
		}
		t.Skipf("%s is not installed: install knot and nsd", path)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var output bytes.Buffer
	command := exec.CommandContext(ctx, path, arguments...)
	command.Stdout, command.Stderr = &output, &output
	// It may have children, which have to let go of the output.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", path, &output)
		}
	})
}

func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	packets, listener := sockets(t)
	_, _ = packets.Close(), listener.Close()
	return netip.MustParseAddrPort(listener.Addr().String())
}

func knot(t *testing.T, address netip.AddrPort, server string) {
	t.Helper()
	folder := t.TempDir()
	host, port, _ := net.SplitHostPort(server)
	config := filepath.Join(folder, "knot.conf")
	if err := os.WriteFile(config, []byte(knotConfig(folder, address, host, port)), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "/usr/sbin/knotd", "-c", config)
}

func knotConfig(folder string, address netip.AddrPort, host, port string) string {
	return fmt.Sprintf(`server:
    rundir: %[1]s
    listen: %[2]s@%[3]d
database:
    storage: %[1]s
log:
  - target: stderr
    any: info
key:
  - id: copy.key.
    algorithm: hmac-sha256
    secret: %[4]s
remote:
  - id: primary
    address: %[5]s@%[6]s
    key: copy.key.
acl:
  - id: told
    key: copy.key.
    action: notify
zone:
  - domain: foo.example.
    storage: %[1]s
    master: primary
    acl: told
`, folder, address.Addr(), address.Port(), testSecret, host, port)
}

func nsd(t *testing.T, address netip.AddrPort, server string) {
	t.Helper()
	folder := t.TempDir()
	host, port, _ := net.SplitHostPort(server)
	text := fmt.Sprintf(`server:
  ip-address: %[2]s@%[3]d
  username: ""
  chroot: ""
  database: ""
  zonesdir: "%[1]s"
  pidfile: ""
  xfrdfile: "%[1]s/xfrd.state"
  xfrdir: "%[1]s"
  zonelistfile: "%[1]s/zone.list"
  verbosity: 2
  server-count: 1
  do-ip6: no
remote-control:
  control-enable: no
key:
  name: "copy.key."
  algorithm: hmac-sha256
  secret: "%[4]s"
zone:
  name: "foo.example"
  zonefile: "foo.zone"
  request-xfr: %[5]s@%[6]s copy.key.
  allow-notify: 127.0.0.1 copy.key.
`, folder, address.Addr(), address.Port(), testSecret, host, port)
	config := filepath.Join(folder, "nsd.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "/usr/sbin/nsd", "-d", "-c", config)
}

// eventually asks until the answer is what is wanted.
func eventually(t *testing.T, address string, m *dns.Msg, wanted func(*dns.Msg) bool) *dns.Msg {
	t.Helper()
	var reply *dns.Msg
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		client := dns.Client{Timeout: time.Second}
		if reply, _, err = client.ExchangeContext(t.Context(), m, address); err == nil && wanted(reply) {
			return reply
		}
	}
	t.Fatalf("%s: %v, %v", address, err, reply)
	return nil
}

// Debian's knot and nsd copy the zone, hear of a change, and refer to this
// server for lent names.
func TestRealSecondaries(t *testing.T) {
	for name, run := range map[string]func(*testing.T, netip.AddrPort, string){"knot": knot, "nsd": nsd} {
		t.Run(name, func(t *testing.T) {
			secondary := freePort(t)
			server := primary(t, secondary)
			run(t, secondary, start(t, server))
			address := secondary.String()
			serial := func(want uint32) func(*dns.Msg) bool {
				return func(m *dns.Msg) bool {
					return len(m.Answer) == 1 && m.Authoritative && m.Answer[0].(*dns.SOA).Serial == want
				}
			}
			eventually(t, address, request("foo.example.", dns.TypeSOA), serial(100))
			referral := eventually(t, address, request("in.shop.foo.example.", dns.TypeA), func(m *dns.Msg) bool { return len(m.Ns) == 1 })
			if got := texts(referral.Ns); referral.Authoritative || !slices.Equal(got, []string{"shop.foo.example. 3600 IN NS ns.foo.example."}) {
				t.Errorf("lent name: %v", referral)
			}
			if got := texts(referral.Extra); len(got) == 0 || got[0] != "ns.foo.example. 3600 IN A 198.18.0.1" {
				t.Errorf("glue: %v", referral)
			}
			if m := ask(t, address, "udp", request("foo.example.", dns.TypeMX)); len(m.Answer) != 1 {
				t.Errorf("MX: %v", m)
			}
			// A record more: told at once, and copied by its difference.
			options := publicOptions(&testAllocator{})
			copying(t, &options, copyZone+"new TXT \"new\"\n", secondary)
			if err := server.Reconfigure(options); err != nil {
				t.Fatal(err)
			}
			eventually(t, address, request("foo.example.", dns.TypeSOA), serial(101))
			if m := ask(t, address, "udp", request("new.foo.example.", dns.TypeTXT)); len(m.Answer) != 1 {
				t.Errorf("new record: %v", m)
			}
			for end := time.Now().Add(10 * time.Second); server.Statistics().Notified < 1 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if s := server.Statistics(); s.Notified == 0 || s.Transfers < 2 {
				t.Errorf("counters %+v", s)
			}
		})
	}
}
