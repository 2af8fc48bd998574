package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// forShells are texts that make a file where a shell gets hold of them.
func forShells(t *testing.T, made string) (texts []string) {
	t.Helper()
	for _, text := range []string{
		"$(touch MADE)", "`touch MADE`", "; touch MADE #", "| touch MADE #", "&& touch MADE #", "& touch MADE #", "> MADE #",
		"'; touch MADE; '", "'$(touch MADE)'", "\"; touch MADE; \"", "\"$(touch MADE)\"", "\\\"; touch MADE; \\\"", "\ntouch MADE\n", "\r\ntouch MADE\r\n",
	} {
		texts = append(texts, strings.ReplaceAll(text, "MADE", made))
	}
	for _, quotes := range []string{"", "'", "\""} { // where each works for one shell at least
		var ran []bool
		for _, text := range texts {
			_ = exec.CommandContext(context.Background(), "/bin/sh", "-c", "echo "+quotes+text+quotes).Run()
			_, err := os.Stat(made)
			ran = append(ran, err == nil)
			_ = os.Remove(made)
		}
		if !strings.Contains(fmt.Sprint(ran), "true") {
			t.Fatalf("no text runs within %q: the test shows nothing", quotes)
		}
	}
	return texts
}

// TestGeofenceDefect1_LogLinesReachNoShell: of the lines of a watched file, and of a
// watched command, nothing is executed; nor of what events tell of them, in a file, by a
// command's standard input and by the guide's script.
func TestGeofenceDefect1_LogLinesReachNoShell(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3, Servers: 1})
	path, log, siem := filepath.Join(r.directory, "auth.log"), filepath.Join(r.directory, "events.jsonl"), filepath.Join(r.directory, "siem.jsonl")
	short, err := os.MkdirTemp("", "rg") // what lists quote of a line is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	made := short + "/x"
	texts := forShells(t, made)
	p := publish(t, r.Servers[0])
	p.put("/drop.txt", append([]string{"203.0.113.0/24"}, texts...)...)
	sinks, mailbox := r.messaged()
	d := r.start(r.configuration() + "lists: [{name: drop, url: \"" + p.url + "/drop.txt\"}]\njails:\n" + jail("ssh", path, ", maxretry: 1") +
		"  - {name: journal, command: [/usr/bin/tail, -n, 0, -F, " + path + ".2], patterns: [sshd], maxretry: 1}\n" +
		strings.Replace(sinks, "events:\n", "events:\n  - {name: log, file: "+log+"}\n  - {name: siem, command: [/usr/bin/tee, "+siem+"]}\n", 1))
	file, command, victim := r.Clients[0].IP, r.Clients[1].IP, r.Clients[2].IP
	j := journal{d, path}.watched()
	second := journal{d, path + ".2"}
	eventually(t, 20*time.Second, "the command's log is watched", func() bool {
		second.write("Jan  2 15:04:05 gw cron[1]: nothing\n")
		return d.jail("journal").Lines > 0
	})
	for _, text := range texts {
		j.write(guessed(text, file), "from "+victim.String()+text+"\n")
		second.write(guessed(text, command), text+"\n")
	}
	j.mustBecomeBanned(file)
	j.mustBecomeBanned(command)
	for _, a := range []string{log, siem, mailbox} {
		eventually(t, 20*time.Second, a+" tells of a list's line", func() bool {
			text, _ := os.ReadFile(a)
			return strings.Contains(string(text), "$(touch "+made+")")
		})
	}
	if _, banned := j.banned(victim); banned {
		t.Error("who is named where no address belongs is banned")
	}
	d.stop()
	if _, err := os.Stat(made); err == nil {
		t.Error("part of what strangers wrote was executed")
	}
}
