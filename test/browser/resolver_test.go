package browser

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// rootZone is the root, as the hints name its one server.
var rootZone = delegation{".", "a.root.example.", rootAddress}

// unbound starts an unbound as Debian sets it up: its defaults, and the folder
// unbound.conf.d without the anchor of the real root. more are lines of its
// server section. Its root is rootZone.
func (w *world) unbound(node *netns.Namespace, at netip.Addr, more string) {
	w.t.Helper()
	directory := filepath.Join(w.directory, "unbound-"+at.String())
	write(w.t, filepath.Join(directory, "root.hints"), fmt.Sprintf("%s\n%s\n", rootZone.ns(), rootZone.a()))
	config := filepath.Join(directory, "unbound.conf")
	write(w.t, config, fmt.Sprintf(`server:
  interface: %s
  access-control: 0.0.0.0/0 allow
  username: ""
  directory: %s
  pidfile: ""
  use-syslog: no
  logfile: %s/log
  root-hints: %s/root.hints
%s`, at, directory, directory, directory, more))
	w.server(node, "unbound", "-d", "-p", "-c", config)
	w.answers(node, at)
}

// dnsmasq starts one in front of another resolver, with its own defaults.
func (w *world) dnsmasq(node *netns.Namespace, at, upstream netip.Addr) {
	w.t.Helper()
	w.server(node, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
		"--bind-interfaces", "--except-interface=lo", "--listen-address="+at.String(), "--server="+upstream.String())
	w.answers(node, at)
}

// resolvedPaths are where systemd-resolved is: Debian's place, and where
// tools/deps.sh unpacks it on a machine whose own names it must not touch.
var resolvedPaths = []string{"/lib/systemd/systemd-resolved", "/usr/local/lib/realmgate-test/systemd-resolved"}

// resolved starts a systemd-resolved in front of another resolver. It needs its
// user and a /run of its own, which it gets in a mount namespace.
func (w *world) resolved(node *netns.Namespace, at, upstream netip.Addr) {
	w.t.Helper()
	path := ""
	for _, p := range resolvedPaths {
		if _, err := os.Stat(p); err == nil {
			path = p
		}
	}
	if path == "" {
		w.missing("systemd-resolved")
	}
	directory := filepath.Join(w.directory, "resolved-"+at.String())
	write(w.t, filepath.Join(directory, "test.conf"), fmt.Sprintf(
		"[Resolve]\nDNS=%s\nDomains=~.\nFallbackDNS=\nLLMNR=no\nMulticastDNS=no\nDNSStubListenerExtra=%s\n", upstream, at))
	w.server(node, "unshare", "--mount", "--propagation", "private", "sh", "-ec", `
cd "$1"
cp /etc/passwd /etc/group .
grep -q ^systemd-resolve: passwd || echo 'systemd-resolve:x:991:991::/:/usr/sbin/nologin' >>passwd
grep -q ^systemd-resolve: group || echo 'systemd-resolve:x:991:' >>group
mount --bind passwd /etc/passwd
mount --bind group /etc/group
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/resolve /run/systemd/resolved.conf.d
chown systemd-resolve:systemd-resolve /run/systemd/resolve
cp test.conf /run/systemd/resolved.conf.d
exec "$2"
`, "sh", directory, path)
	w.answers(node, at)
}

// server starts a program that runs until the lab is closed.
func (w *world) server(node *netns.Namespace, name string, args ...string) *netns.Command {
	w.t.Helper()
	file, err := os.OpenFile(filepath.Join(w.directory, "servers.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close() // the process has its own copy
	command := node.Command(background, name, args...)
	command.Stdout, command.Stderr = file, file
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	return command
}

// answers waits until a resolver knows where ready.example is.
func (w *world) answers(node *netns.Namespace, at netip.Addr) {
	w.t.Helper()
	eventually(w.t, 20*time.Second, "the resolver at "+at.String()+" answers", func() bool {
		_, err := lookUp(netns.Node{Namespace: node, IP: at}, at, "ready.example.", time.Second)
		return err == nil
	})
}

// missing skips a test that needs a program, or fails it in CI.
func (w *world) missing(what string) {
	w.t.Helper()
	if os.Getenv("CI") != "" {
		w.t.Fatalf("%s is missing: run make deps", what)
	}
	w.t.Skipf("%s is missing: run make deps", what)
}
