package nameserver

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// namespace makes a network namespace with addresses on its loopback and
// removes it when the test ends.
func namespace(t *testing.T, addresses ...string) (name string) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("a network namespace needs root")
	}
	name = fmt.Sprintf("rg-dns-%d", os.Getpid())
	run := func(arguments ...string) {
		t.Helper()
		if output, err := exec.CommandContext(t.Context(), "ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", arguments, err, output)
		}
	}
	run("netns", "add", name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", name).Run() })
	run("-n", name, "link", "set", "lo", "up")
	for _, address := range addresses {
		run("-n", name, "address", "add", address+"/32", "dev", "lo")
	}
	return name
}

// inNamespace runs a function in a network namespace; sockets that it makes stay there.
func inNamespace(t *testing.T, name string, do func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		file, err := os.Open("/run/netns/" + name)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			_ = file.Close()
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A resolver that knows nothing but the secondary reaches every name: what is
// fixed there, what is lent by its delegation here.
func TestResolverByTheSecondary(t *testing.T) {
	const own, second, resolver = "198.18.0.1", "198.18.0.2", "198.18.0.3"
	name := namespace(t, own, second, resolver)
	secondary := netip.MustParseAddrPort(second + ":53")
	server := primary(t, secondary)
	var packets net.PacketConn
	var listener net.Listener
	inNamespace(t, name, func() {
		var config net.ListenConfig
		var err error
		if packets, err = config.ListenPacket(t.Context(), "udp", own+":53"); err != nil {
			t.Error(err)
		}
		if listener, err = config.Listen(t.Context(), "tcp", own+":53"); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	serveUntilEnd(t, server, packets, listener)
	folder := t.TempDir()
	start := func(file, text string, arguments ...string) {
		t.Helper()
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(arguments[0]); err != nil && os.Getenv("CI") != "true" {
			t.Skipf("%s is not installed: install knot and unbound", arguments[0])
		}
		program(t, "/sbin/ip", append(append([]string{"netns", "exec", name}, arguments...), path)...)
	}
	start("knot.conf", knotConfig(folder, secondary, own, "53"), "/usr/sbin/knotd", "-c")
	start("unbound.conf", fmt.Sprintf(`server:
  interface: %s
  access-control: 0.0.0.0/0 allow
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-ip6: no
  domain-insecure: "example."
  local-zone: "example." nodefault
stub-zone:
  name: "foo.example."
  stub-addr: %s
remote-control:
  control-enable: no
`, resolver, second), "/usr/sbin/unbound", "-d", "-p", "-c")
	ask := func(to, question, qtype string) string {
		output, _ := exec.CommandContext(t.Context(), "ip", "netns", "exec", name,
			"dig", "@"+to, "+short", "+time=2", "+tries=2", "-t", qtype, question).CombinedOutput()
		return string(output)
	}
	for range 300 { // until both are there and the zone is copied
		if strings.Contains(ask(second, "foo.example", "MX"), "mail") && ask(resolver, "foo.example", "MX") != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for question, want := range map[string]string{
		"shop.foo.example A":          "198.18.0.33\n",
		"in.shop.foo.example A":       "198.18.0.33\n",
		"a.b.foo.example A":           "198.18.0.33\n",
		"www.foo.example A":           "shop.foo.example.\n198.18.0.33\n",
		"shop.foo.example AAAA":       "",
		"mail.foo.example A":          "198.51.100.25\n",
		"foo.example MX":              "10 mail.foo.example.\n",
		"_dmarc.shop.foo.example TXT": "\"beside a lent name\"\n",
		"x.child.foo.example A":       "198.18.0.33\n",
	} {
		question, qtype, _ := strings.Cut(question, " ")
		for range 3 {
			if got := ask(resolver, question, qtype); got != want {
				t.Errorf("%s %s: %q, want %q", question, qtype, got, want)
			}
		}
	}
}
