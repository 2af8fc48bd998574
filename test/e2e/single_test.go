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

// A machine with one interface, and three lines of configuration, bans who guesses passwords over SSH within its next packet.
// Nothing else of it changes: settings, routes, offloads, and what it forwards by itself.
func TestSingleMachine(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) { testSingleMachine(t, mode) })
	}
}

func testSingleMachine(t *testing.T, mode string) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	machine := netns.Node{Namespace: r.Gateway.Namespace, IP: r.Gateway.PublicAddress}
	guesser, friend, behind := r.Clients[0], r.Clients[1], r.Hosts()[0]
	r.must(r.Router.Route("10.0.0.0/16", machine.IP.String()))
	r.runIn(machine, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
	r.webServers()
	webServer(t, machine, 80, "machine")
	echoServer(t, machine, 7, "machine")
	log := filepath.Join(r.directory, "auth.log")
	r.sshServer(machine, log)
	before := r.settings(machine)
	d := r.start(fmt.Sprintf(`interfaces: {public: [%s], %s: [%[1]s]}
jails:
  - {name: ssh, file: %[3]s, patterns: [sshd], maxretry: 3}
`, r.Gateway.Public[0], mode, log))
	journal{d, log}.watched()
	if changed := changedLines(before, r.settings(machine)); len(changed) > 0 {
		t.Errorf("of the machine is changed:\n%s", strings.Join(changed, "\n"))
	}
	works := func(when string) {
		t.Helper()
		if page, err := curl(friend, machine.IP, 80); err != nil || strings.TrimSpace(page) != "machine" {
			t.Errorf("%s a page of the machine: %q, %v", when, page, err)
		}
		if page, err := curl(friend, behind.IP, 8080); err != nil || strings.TrimSpace(page) != hostName(0) {
			t.Errorf("%s a page of a host that it forwards to: %q, %v", when, page, err)
		}
		r.runIn(friend, "ping", "-c", "1", "-W", "5", "-s", "4000", machine.IP.String()) // in fragments
		r.runIn(machine, "ping", "-c", "1", "-W", "5", friend.IP.String())
	}
	works("at first")
	talk, err := guesser.DialFrom(t.Context(), "udp4", netip.AddrPort{}, fmt.Sprintf("%s:7", machine.IP))
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	if who, err := echoOn(talk); err != nil || who != "machine" {
		t.Fatalf("before it guesses: %q, %v", who, err)
	}
	for n := range 3 { // the last may be kept out already
		if out, err := guess(guesser, machine.IP.String(), r.directory); err == nil || n == 0 && !strings.Contains(out, "Permission denied") {
			t.Fatalf("guess %d: %v, %s", n, err, out)
		}
	}
	journal{d, log}.mustBecomeBanned(guesser.IP)
	if who, err := echoOn(talk); err == nil {
		t.Errorf("its next packet is answered by %s", who)
	}
	if dropped := d.scrape()[`realmgate_packets_total{reason="drop_banned"}`]; dropped == 0 {
		t.Error("no packet was dropped as drop_banned")
	}
	if out, err := d.tell("explain", guesser.IP.String(), "--to", machine.IP.String(), "--protocol", "tcp", "--port", "22"); err != nil || !strings.Contains(out, "drop_banned") {
		t.Errorf("explain says: %v, %s", err, out)
	}
	works("beside the ban")
	if out, err := d.tell("ban", "remove", guesser.IP.String()); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if who, err := echoOn(talk); err != nil {
		t.Errorf("after the ban: %q, %v", who, err)
	}
	if status := d.status(); len(status.Warnings) > 0 {
		t.Errorf("it warns of %q", status.Warnings)
	}
	d.stop()
	if changed := changedLines(before, r.settings(machine)); len(changed) > 0 {
		t.Errorf("of the machine stays changed:\n%s", strings.Join(changed, "\n"))
	}
	if attached, err := machine.Attached(); err != nil || len(attached) > 0 {
		t.Errorf("programs are left at %v: %v", attached, err)
	}
}

// A single machine has the protection of a gateway: lists and the honeypot, which bans.
func TestSingleMachineIsProtected(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Clients: 3})
	machine := netns.Node{Namespace: r.Gateway.Namespace, IP: r.Gateway.PublicAddress}
	scanner, enemy, friend := r.Clients[0], r.Clients[1], r.Clients[2]
	webServer(t, machine, 80, "machine")
	d := r.start(fmt.Sprintf("interfaces: {public: [%s]}\nprotection: {blocklist: [%s], honeypot: {tcp: [23]}}\n", r.Gateway.Public[0], enemy.IP))
	fetch := func(from netns.Node) string {
		page, _ := curl(from, machine.IP, 80, "--connect-timeout", "2")
		return strings.TrimSpace(page)
	}
	for from, want := range map[netns.Node]string{scanner: "machine", enemy: "", friend: "machine"} {
		if page := fetch(from); page != want {
			t.Errorf("%s gets %q, want %q", from.IP, page, want)
		}
	}
	for from, want := range map[netns.Node]string{enemy: "drop_denied", friend: "would pass"} {
		if out, err := d.tell("explain", from.IP.String(), "--to", machine.IP.String(), "--protocol", "tcp", "--port", "80"); err != nil || !strings.Contains(out, want) {
			t.Errorf("explain says of %s: %v, %s", from.IP, err, out)
		}
	}
	_, _ = curl(scanner, machine.IP, 23, "--max-time", "2")
	journal{d, ""}.mustBecomeBanned(scanner.IP)
	for from, want := range map[netns.Node]string{scanner: "", enemy: "", friend: "machine"} {
		if page := fetch(from); page != want {
			t.Errorf("after the scan %s gets %q, want %q", from.IP, page, want)
		}
	}
}

// runIn runs what has to end well.
func (r *realm) runIn(at netns.Node, command ...string) string {
	r.t.Helper()
	out, err := at.Command(r.t.Context(), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// settings are what a gateway changes of a machine, and a single one does not.
func (r *realm) settings(at netns.Node) string {
	r.t.Helper()
	return r.runIn(at, "sh", "-c", `set -e; export LC_ALL=C
		sysctl -a --pattern '^net\.(ipv[46]\.(conf|neigh|ip)|core)' 2>/dev/null
		ip route show table all; ip rule; ip -o link 2>/dev/null | sed 's/ xdp[^ ]*//; s/\\ *prog\/.*//'; nft list ruleset
		for i in eth0 eth1; do ethtool -k $i; done`)
}

// changedLines are those that only one of two texts has.
func changedLines(before, now string) (changed []string) {
	count := map[string]int{}
	for _, line := range strings.Split(before, "\n") {
		count[line]--
	}
	for _, line := range strings.Split(now, "\n") {
		count[line]++
	}
	for line, n := range count {
		if n != 0 {
			changed = append(changed, fmt.Sprintf("%+d %s", n, line))
		}
	}
	return changed
}

// sshServer runs OpenSSH's, whose log has lines as syslog writes them; more are lines of its configuration.
func (r *realm) sshServer(at netns.Node, log string, more ...string) {
	r.t.Helper()
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // as its unit makes it
		r.t.Fatal(err)
	}
	key, configuration := filepath.Join(r.directory, "host_key"), filepath.Join(r.directory, "sshd_config")
	r.runIn(at, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	text := fmt.Sprintf("ListenAddress %s:22\nHostKey %s\nUsePAM no\nPidFile none\n%s\n", at.IP, key, strings.Join(more, "\n"))
	if err := os.WriteFile(configuration, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := at.Command(ctx, "sh", "-c", `/usr/sbin/sshd -D -e -f "$1" 2>&1 | sed -u 's/\r$//; s/^/Jan  2 15:04:05 gw sshd[4711]: /'  >>"$2"`, "sshd", configuration, log)
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cancel(); _ = server.Wait() })
	eventually(r.t, 10*time.Second, "sshd listens", func() bool {
		text, err := os.ReadFile(log) //nolint:gosec // the test's own
		return err == nil && strings.Contains(string(text), "Server listening")
	})
}

// guess tries to log in with a password that is wrong.
func guess(from netns.Node, at, directory string) (string, error) {
	answer := filepath.Join(directory, "guess")
	if err := os.WriteFile(answer, []byte("#!/bin/sh\necho guess\n"), 0o700); err != nil { //nolint:gosec // it is executed
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ssh := from.Command(ctx, "ssh", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "NumberOfPasswordPrompts=1", "-o", "PreferredAuthentications=password",
		"-o", "ConnectTimeout=10", "admin@"+at, "true")
	ssh.Env = append(os.Environ(), "SSH_ASKPASS="+answer, "SSH_ASKPASS_REQUIRE=force")
	out, err := ssh.CombinedOutput()
	return string(out), err
}
