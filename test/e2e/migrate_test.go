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

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// moving is a page for those who come from elsewhere, and where its commands run.
type moving struct {
	*daemon
	text string
	at   *netns.Namespace
}

// movesFrom reads a page. Its commands find a realmgate that talks to the daemon.
func (d *daemon) movesFrom(page string, at *netns.Namespace) moving {
	d.t.Helper()
	text, err := os.ReadFile("../../docs/guide/" + page)
	if err != nil {
		d.t.Fatal(err)
	}
	m := moving{d, string(text), at}
	m.program("realmgate", fmt.Sprintf("exec %s \"$@\" --instance %s\n", program, d.instance))
	return m
}

// folder is where the configuration is, and where the page's commands run.
func (m moving) folder() string { return filepath.Dir(m.config) }

// program makes one that the page's commands find before any other of its name.
func (m moving) program(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.folder(), name), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // it is to be executed
		m.t.Fatal(err)
	}
}

// block returns the nth block of a language, from 0 on, with other names and addresses.
func (m moving) block(language string, n int, replaced ...string) string {
	m.t.Helper()
	var found []string
	for rest := "\n" + m.text; ; {
		_, after, more := strings.Cut(rest, "\n```")
		if !more {
			break
		}
		block, after, _ := strings.Cut(after, "\n```")
		if is, body, _ := strings.Cut(block, "\n"); is == language {
			found = append(found, body+"\n")
		}
		rest = after
	}
	if n >= len(found) {
		m.t.Fatalf("the page has %d blocks of %q", len(found), language)
	}
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(found[n], replaced[i]) {
			m.t.Fatalf("block %d of %q has no %s", n, language, replaced[i])
		}
		found[n] = strings.ReplaceAll(found[n], replaced[i], replaced[i+1])
	}
	return found[n]
}

// does runs a script as the page has it.
func (m moving) does(script string) string {
	m.t.Helper()
	command := m.at.Command(context.Background(), "sh", "-e", "-c", "cd "+m.folder()+"; PATH=$PWD:$PATH\n"+script)
	out, err := command.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// takes puts the page's configuration into force.
func (m moving) takes(r *realm, configuration string) {
	m.t.Helper()
	m.write(r.configuration() + configuration)
	if out, err := m.tell("reload"); err != nil {
		m.t.Fatal(out)
	}
}

// What a real ipset saved becomes a set by the page's command, and what it has for a time a
// ban of the same time: the one loses what is open, the other gets nothing, and a friend on
// the blacklist is exempt. The page's rules are some that iptables takes.
func TestGuideFromIpset(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 4})
	r.echoServers()
	d := r.start(r.configuration())
	bad, friend, scanner, old := r.Clients[0], r.Clients[1].IP.String(), r.Clients[2], r.Clients[3]
	m := d.movesFrom("from-ipset.md", old.Namespace)
	talk := r.conversation(bad, 0)
	sets := m.block("", 0, "203.0.113.9", friend, "198.51.100.0/24", bad.IP.String()) + "add blacklist " + friend + "\n" +
		"add scanners " + scanner.IP.String() + " timeout 600\n"
	m.does("ipset restore <<E\n" + sets + "E\niptables-restore <<E\n" + strings.ReplaceAll(m.block("", 1), "\n  ", " ") + "E\n" +
		`ipset create exceptions hash:net comment; ipset add exceptions 10.0.0.0/8 comment "a nomatch in 192.0.2.1"
		ipset add exceptions 10.1.0.0/16 nomatch`)
	m.does(m.block("sh", 0))
	m.does(strings.ReplaceAll(m.block("sh", 0), "blacklist", "exceptions"))
	if got, err := os.ReadFile(filepath.Join(m.folder(), "exceptions.txt")); err != nil || string(got) != "10.0.0.0/8\n" {
		t.Errorf("of a set with an exception: %q, %v", got, err)
	}
	m.does("ipset create blacklist6 hash:net family inet6; ipset add blacklist6 2001:db8:7::/48\n" +
		strings.NewReplacer("save blacklist", "save blacklist6", "> ", ">> ").Replace(m.block("sh", 0)))
	if got, err := os.ReadFile(filepath.Join(m.folder(), "blacklist.txt")); err != nil || strings.Count(string(got), "\n") != 3 || !strings.HasSuffix(string(got), "2001:db8:7::/48\n") {
		t.Errorf("of two sets: %q, %v", got, err)
	}
	m.takes(r, m.block("yaml", 0, "203.0.113.9", friend))
	if out, err := d.tell("explain", bad.IP.String()); err != nil || !strings.Contains(out, bad.IP.String()+" is of set blacklist") {
		t.Errorf("explain: %v: %s", err, out)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("what was open to who is in the set goes on")
	}
	if who, err := lent(bad, r.Gateway, "echo."+hostName(0)); err == nil {
		t.Errorf("who is in the set got %s", who)
	}
	r.mustReach(r.Clients[1], 0)
	r.mustReach(scanner, 0)
	m.does(m.block("sh", 1))
	bans := list[[]client.Ban](d, "ban", "list")
	if len(bans) != 1 || bans[0].Prefix.Addr() != scanner.IP || bans[0].Until.IsZero() || time.Until(bans[0].Until) > 10*time.Minute {
		t.Errorf("bans: %+v", bans)
	}
	if who, err := lent(scanner, r.Gateway, "echo."+hostName(0)); err == nil {
		t.Errorf("who is banned got %s", who)
	}
	if out := m.does(m.block("sh", 2)); out != "1 prefix banned\n" {
		t.Errorf("all for equally long: %s", out)
	}
}

// The page's jails ban who fails so often, but for whom ignoreip had, and what
// fail2ban-client prints becomes bans by the page's command.
func TestGuideFromFail2ban(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	d := r.start(r.configuration())
	bad, friend := r.Clients[0].IP, r.Clients[1].IP
	m := d.movesFrom("from-fail2ban.md", r.Clients[0].Namespace)
	j := journal{d, filepath.Join(m.folder(), "app.log")}
	j.write()
	m.takes(r, m.block("yaml", 0, "203.0.113.9", friend.String(), "/var/log/app.log", j.path))
	failed := func(from netip.Addr) string {
		return fmt.Sprintf("2026-01-02 15:04:05 login of bob from %s failed\n", from)
	}
	eventually(t, 20*time.Second, "the log is watched", func() bool {
		j.write("2026-01-02 15:04:05 nothing\n")
		return list[[]client.Jail](d, "jails")[1].Lines > 0
	})
	j.write(strings.Repeat(failed(friend)+failed(bad), 10))
	eventually(t, 20*time.Second, "who failed is banned", func() bool { return len(list[[]client.Ban](d, "ban", "list")) > 0 })
	bans := list[[]client.Ban](d, "ban", "list")
	if len(bans) != 1 || bans[0].Prefix.Addr() != bad || bans[0].Reason != "jail app: 10 failures, offence 1" {
		t.Errorf("bans: %+v", bans)
	}
	m.program("fail2ban-client", `[ "$*" = "get sshd banip" ] && echo "192.0.2.7 2001:db8::9 203.0.113.0/24"`) // as 1.0.2 does
	if out := m.does(m.block("sh", 0)); out != "3 prefixes banned\n" {
		t.Errorf("taken over: %s", out)
	}
	if out, err := d.tell("ban", "add", friend.String(), "--for", "10s"); err == nil || !strings.Contains(out, "ignoreip has it") {
		t.Errorf("who was ignored: %v: %s", err, out)
	}
}

// The page's configuration lets in whom ipt_geofence's did, by country and by continent, and
// nobody of another; what its jail prints is banned, and so are the addresses of its file.
func TestGuideFromIptGeofence(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 4})
	r.echoServers()
	italy, canada, belarus, nowhere := r.moved(r.RemoteClients[0], "77.0.0.1"), r.moved(r.RemoteClients[1], "77.0.0.2"),
		r.moved(r.RemoteClients[2], "77.0.0.3"), r.moved(r.RemoteClients[3], "77.0.0.4")
	d := r.start(r.configuration())
	m := d.movesFrom("from-ipt-geofence.md", r.Gateway.Namespace)
	table := filepath.Join(m.folder(), "geo.table")
	places(t, table, map[string]string{"77.0.0.1": "IT", "77.0.0.2": "CA", "77.0.0.3": "BY"})
	m.program("attackers", "echo 203.0.113.77; exec sleep 1000\n")
	m.takes(r, m.block("yaml", 0, "  geofence:", "  geo_table: "+table+"\n  geofence:",
		"/usr/local/bin/attackers", filepath.Join(m.folder(), "attackers")))
	for _, in := range []netns.Node{italy, canada, nowhere} {
		r.mustReach(in, 0)
	}
	address := r.mustLend(belarus, "echo."+hostName(0))
	if who, err := echo(belarus, netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is where nothing is allowed reached %s", who)
	}
	eventually(t, 20*time.Second, "what the jail printed is banned", func() bool {
		bans := list[[]client.Ban](d, "ban", "list")
		return len(bans) == 1 && bans[0].Prefix.String() == "203.0.113.77/32" && time.Until(bans[0].Until) < 5*time.Minute
	})
	if err := os.WriteFile(filepath.Join(m.folder(), "banned"), []byte("192.0.2.7\t1\n2001:db8::9\t3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := m.does(strings.ReplaceAll(m.block("sh", 1), "FILE", "banned")); out != "2 prefixes banned\n" {
		t.Errorf("taken over: %s", out)
	}
}
