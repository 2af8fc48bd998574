package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// guessed is what sshd writes when somebody guesses a user's name.
func guessed(user string, from netip.Addr) string {
	return fmt.Sprintf("Jan  2 15:04:05 gw sshd[4711]: Invalid user %s from %s port 40022\n", user, from)
}

// journal is a log that a daemon watches.
type journal struct {
	*daemon
	path string
}

func (j journal) write(lines ...string) {
	j.t.Helper()
	file, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		j.t.Fatal(err)
	}
	_, err = file.WriteString(strings.Join(lines, ""))
	if err := file.Close(); err != nil {
		j.t.Fatal(err)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

// watched waits until what is written is read: a file is followed from where its end is
// at the first look.
func (j journal) watched() journal {
	j.t.Helper()
	eventually(j.t, 20*time.Second, "the log is watched", func() bool {
		j.write("Jan  2 15:04:05 gw cron[1]: nothing\n")
		jails := list[[]client.Jail](j.daemon, "jails")
		return len(jails) > 0 && jails[0].Lines > 0
	})
	return j
}

// failures waits until the first jail has so many.
func (j journal) failures(want uint64) {
	j.t.Helper()
	eventually(j.t, 20*time.Second, fmt.Sprintf("%d failures", want), func() bool {
		return list[[]client.Jail](j.daemon, "jails")[0].Failures >= want
	})
}

func (j journal) banned(a netip.Addr) (client.Ban, bool) {
	j.t.Helper()
	for _, b := range list[[]client.Ban](j.daemon, "ban", "list") {
		if b.Prefix == netip.PrefixFrom(a, 32) {
			return b, true
		}
	}
	return client.Ban{}, false
}

func (j journal) mustBecomeBanned(a netip.Addr) {
	j.t.Helper()
	eventually(j.t, 20*time.Second, a.String()+" is banned", func() bool {
		_, banned := j.banned(a)
		return banned
	})
}

// The guide's jail ends what is open to who guesses names, and nothing of whom it names
// instead of itself.
func TestGuideJail(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	r.echoServers()
	guesser, victim, friend := r.Clients[0], r.Clients[1], r.Clients[2]
	path := filepath.Join(r.directory, "auth.log")
	d := r.start(r.configuration() + "ignoreip: [" + friend.IP.String() + "]\n" + r.guideFrom("jails", "jail.md", "/var/log/auth.log", path))
	j := journal{d, path}.watched()
	talk, other := r.conversation(guesser, 0), r.conversation(victim, 0)
	forged := "x from " + victim.IP.String() + " port 22"
	for n := range 4 {
		j.write(guessed(fmt.Sprint("root", n), guesser.IP))
	}
	j.failures(4)
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 0 {
		t.Errorf("4 failures made %v", bans)
	}
	j.write(guessed(forged, guesser.IP))
	j.mustBecomeBanned(guesser.IP)
	if !d.refuses(talk, "drop_banned") {
		t.Error("what was open to who is banned goes on")
	}
	for n := range 10 { // the last with another address of its /64 each time
		j.write(guessed(forged, guesser.IP), guessed("root", friend.IP), guessed("root", netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", n))))
	}
	j.failures(35)
	if who, err := echoOn(other); err != nil || who != hostName(0) {
		t.Errorf("who is only named reached %q: %v", who, err)
	}
	bans := list[[]client.Ban](d, "ban", "list")
	for _, b := range bans {
		if b.Until.Sub(b.Since) > time.Hour+time.Second || !strings.HasPrefix(b.Reason, "jail ssh: 5 failures, offence 1") {
			t.Errorf("banned is %+v", b)
		}
	}
	if who := fmt.Sprint(prefixesOf(bans)); who != "["+guesser.IP.String()+"/32 2001:db8::/64]" {
		t.Errorf("banned are %s", who)
	}
	exempt := friend.IP.String() + "/32 cannot be banned: " + friend.IP.String() + "/32: ignoreip has it"
	if n := strings.Count(d.logged(), exempt); n != 1 {
		t.Errorf("the log says %d times that %s", n, exempt)
	}
	out, err := d.tell("jails")
	if err != nil || !strings.Contains(out, "ssh") || !strings.Contains(out, path) {
		t.Errorf("jails: %v: %s", err, out)
	}
}

// prefixesOf are the banned prefixes, in order.
func prefixesOf(bans []client.Ban) (list []netip.Prefix) {
	for _, b := range bans {
		list = append(list, b.Prefix)
	}
	slices.SortFunc(list, netip.Prefix.Compare)
	return list
}

// jail is one of sshd's log.
func jail(name, path, more string) string {
	return fmt.Sprintf("  - {name: %s, file: %s, patterns: [sshd]%s}\n", name, path, more)
}

// A reload changes what it says and no other jail, and one that is refused none; a
// jail goes on with the next file when its own is rotated.
func TestJailGoesOn(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	path := filepath.Join(r.directory, "auth.log")
	configuration := r.configuration() + "jails:\n" + jail("ssh", path, ", maxretry: 3")
	d := r.start(configuration)
	j := journal{d, path}.watched()
	first, second, third := r.Clients[0].IP, r.Clients[1].IP, r.Clients[2].IP
	j.write(guessed("root", first), guessed("root", first))
	j.failures(2)
	generation := d.status().Generation
	for bad, said := range map[string]string{
		strings.Replace(configuration, "[sshd]", "['from <ADDRESS>']", 1): "jails: ssh: pattern",
		strings.Replace(configuration, "maxretry: 3", "maxretry: 0", 1):   "jails[0].maxretry",
	} {
		d.write(bad)
		for _, command := range [][]string{{"reload"}, {"check", "-c", d.config}} {
			if out, err := d.tell(command...); err == nil || !strings.Contains(out, said) {
				t.Errorf("%v: %v: %s", command, err, out)
			}
		}
	}
	if now := d.status().Generation; now != generation {
		t.Errorf("generation %d, before %d", now, generation)
	}
	d.write(configuration + jail("more", path+".none", ""))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 20*time.Second, "status tells of a log that is not there", func() bool {
		return strings.Contains(d.warning("jail more bans nobody"), path+".none")
	})
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	j.write(guessed("root", first)) // the third, in the second file
	j.mustBecomeBanned(first)
	if out, err := d.tell("ban", "add", second.String()); err != nil {
		t.Fatal(out)
	}
	for range 3 {
		j.write(guessed("root", second))
	}
	j.failures(6)
	if b, banned := j.banned(second); !banned || !b.Until.IsZero() || b.Reason != "manual" {
		t.Errorf("a ban for ever became %+v", b)
	}
	d.write(r.configuration() + "jails:\n" + jail("ssh", path, ", maxretry: 1"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if jails := list[[]client.Jail](d, "jails"); len(jails) != 1 || jails[0].Failures != 0 {
		t.Errorf("after a reload there are %+v", jails)
	}
	j.watched().write(guessed("root", third))
	j.mustBecomeBanned(third)
}

// A command's lines ban as a file's do, and it ends with its jail.
func TestJailOfACommand(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	path := filepath.Join(r.directory, "auth.log")
	pid := filepath.Join(r.directory, "pid")
	watched := fmt.Sprintf(
		"jails: [{name: ssh, command: [/bin/sh, -c, 'echo $$ >%s; touch %s; exec tail -F %s', -n, 0], patterns: [sshd], maxretry: 2}]\n", pid, path, path)
	d := r.start(r.configuration() + watched)
	j := journal{d, path}.watched()
	j.write(guessed("root; touch "+path+".touched", r.Clients[0].IP), guessed("$(touch "+path+".touched)", r.Clients[0].IP))
	j.mustBecomeBanned(r.Clients[0].IP)
	if _, err := os.Stat(path + ".touched"); err == nil {
		t.Error("part of a line was executed")
	}
	first := runs(t, pid)
	if first == 0 {
		t.Fatal("the command does not run")
	}
	d.write(r.configuration())
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if err := syscall.Kill(first, 0); err == nil {
		t.Error("the command of a jail that is no more runs on")
	}
	d.write(r.configuration() + watched)
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	second := 0
	eventually(t, 20*time.Second, "the command runs again", func() bool {
		second = runs(t, pid)
		return second != 0
	})
	d.stop()
	if err := syscall.Kill(second, 0); err == nil {
		t.Error("the command runs on after its daemon")
	}
}

// runs returns the process that a file names, 0 where it does not run.
func runs(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(process, 0) != nil {
		return 0
	}
	return process
}

// jail shows one of them.
func (d *daemon) jail(name string) (w client.Jail) {
	d.t.Helper()
	for _, w = range list[[]client.Jail](d, "jails") {
		if w.Name == name {
			return w
		}
	}
	d.t.Fatalf("there is no jail %s", name)
	return w
}
