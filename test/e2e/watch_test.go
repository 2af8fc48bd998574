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
		watches := list[[]client.Watch](j.daemon, "watches")
		return len(watches) > 0 && watches[0].Lines > 0
	})
	return j
}

// hits waits until the first watch has so many.
func (j journal) hits(want uint64) {
	j.t.Helper()
	eventually(j.t, 20*time.Second, fmt.Sprintf("%d hits", want), func() bool {
		return list[[]client.Watch](j.daemon, "watches")[0].Hits >= want
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

// The guide's watch ends what is open to who guesses names, and nothing of whom he names
// instead of himself.
func TestGuideWatch(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	r.echoServers()
	guesser, victim, friend := r.Clients[0], r.Clients[1], r.Clients[2]
	path := filepath.Join(r.directory, "auth.log")
	d := r.start(r.configuration() + "ignoreip: [" + friend.IP.String() + "]\n" + r.guideFrom("watches", "watch.md", "/var/log/auth.log", path))
	j := journal{d, path}.watched()
	talk, other := r.conversation(guesser, 0), r.conversation(victim, 0)
	forged := "x from " + victim.IP.String() + " port 22"
	for n := range 4 {
		j.write(guessed(fmt.Sprint("root", n), guesser.IP))
	}
	j.hits(4)
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 0 {
		t.Errorf("4 hits made %v", bans)
	}
	j.write(guessed(forged, guesser.IP))
	j.mustBecomeBanned(guesser.IP)
	if !d.refuses(talk, "drop_banned") {
		t.Error("what was open to who is banned goes on")
	}
	for n := range 10 { // the last with another address of his /64 each time
		j.write(guessed(forged, guesser.IP), guessed("root", friend.IP), guessed("root", netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", n))))
	}
	j.hits(35)
	if who, err := echoOn(other); err != nil || who != hostName(0) {
		t.Errorf("who is only named reached %q: %v", who, err)
	}
	bans := list[[]client.Ban](d, "ban", "list")
	for _, b := range bans {
		if b.Until.Sub(b.Since) > time.Hour+time.Second || !strings.HasPrefix(b.Reason, "watch ssh: 5 hits, offence 1") {
			t.Errorf("banned is %+v", b)
		}
	}
	if who := fmt.Sprint(prefixesOf(bans)); who != "["+guesser.IP.String()+"/32 2001:db8::/64]" {
		t.Errorf("banned are %s", who)
	}
	spared := friend.IP.String() + "/32 cannot be banned: " + friend.IP.String() + "/32: ignoreip has it"
	if n := strings.Count(d.logged(), spared); n != 1 {
		t.Errorf("the log says %d times that %s", n, spared)
	}
	out, err := d.tell("watches")
	if err != nil || !strings.Contains(out, "ssh") || !strings.Contains(out, path) {
		t.Errorf("watches: %v: %s", err, out)
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

// watch is one of sshd's log.
func watch(name, path, more string) string {
	return fmt.Sprintf("  - {name: %s, file: %s, patterns: [sshd]%s}\n", name, path, more)
}

// A reload changes what it says and no other watch, and one that is refused none; a
// watch goes on with the next file when its own is rotated.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	path := filepath.Join(r.directory, "auth.log")
	configuration := r.configuration() + "watches:\n" + watch("ssh", path, ", maxretry: 3")
	d := r.start(configuration)
	j := journal{d, path}.watched()
	first, second, third := r.Clients[0].IP, r.Clients[1].IP, r.Clients[2].IP
	j.write(guessed("root", first), guessed("root", first))
	j.hits(2)
	generation := d.status().Generation
	for bad, said := range map[string]string{
		strings.Replace(configuration, "[sshd]", "['from <ADDRESS>']", 1): "watches: ssh: pattern",
		strings.Replace(configuration, "maxretry: 3", "maxretry: 0", 1): "watches[0].maxretry",
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
	d.write(configuration + watch("more", path+".none", ""))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 20*time.Second, "status tells of a log that is not there", func() bool {
		return strings.Contains(d.remedy("watch more bans nobody"), path+".none")
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
	j.hits(6)
	if b, banned := j.banned(second); !banned || !b.Until.IsZero() || b.Reason != "manual" {
		t.Errorf("a ban for ever became %+v", b)
	}
	d.write(r.configuration() + "watches:\n" + watch("ssh", path, ", maxretry: 1"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if watches := list[[]client.Watch](d, "watches"); len(watches) != 1 || watches[0].Hits != 0 {
		t.Errorf("after a reload there are %+v", watches)
	}
	j.watched().write(guessed("root", third))
	j.mustBecomeBanned(third)
}

// A command's lines ban as a file's do, and it ends with its watch.
func TestWatchOfACommand(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	path := filepath.Join(r.directory, "auth.log")
	pid := filepath.Join(r.directory, "pid")
	watched := fmt.Sprintf(
		"watches: [{name: ssh, command: [/bin/sh, -c, 'echo $$ >%s; touch %s; exec tail -F %s', -n, 0], patterns: [sshd], maxretry: 2}]\n", pid, path, path)
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
		t.Error("the command of a watch that is no more runs on")
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

// watch shows one of them.
func (d *daemon) watch(name string) (w client.Watch) {
	d.t.Helper()
	for _, w = range list[[]client.Watch](d, "watches") {
		if w.Name == name {
			return w
		}
	}
	d.t.Fatalf("there is no watch %s", name)
	return w
}
