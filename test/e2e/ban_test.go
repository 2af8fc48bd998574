package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A ban ends a conversation, outlives a kill and a stop, and ends when its time is over
// or somebody says so.
func TestBanOutlivesItsDaemon(t *testing.T) {
	t.Parallel()
	const many = 20_000
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	d := r.start(r.configuration())
	talk, other := r.conversation(r.Clients[0], 0), r.conversation(r.Clients[1], 0)
	var lines strings.Builder
	for n := range many - 1 {
		fmt.Fprintf(&lines, "192.0.%d.%d # one of many\n", 2+n/256%200, n%256)
	}
	file := filepath.Join(r.directory, "bans.txt")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := d.tell("ban", "add", r.Clients[0].IP.String(), "--file", file, "--for", "1h"); err != nil || out != "20000 prefixes banned\n" {
		t.Fatalf("ban add: %v: %s", err, out)
	}
	mustBe := func(when string, refused func() bool) {
		t.Helper()
		if !refused() {
			t.Errorf("%s a banned conversation goes on", when)
		}
		if who, err := echoOn(other); err != nil || who != hostName(0) {
			t.Errorf("%s who is not banned reached %q: %v", when, who, err)
		}
	}
	asked := func() bool { return d.refuses(talk, "drop_banned") }
	mustBe("at once", asked)
	before := d.counted("drop_banned")
	d.kill()
	d.sends(talk)
	if who, err := echoOn(other); err != nil || who != hostName(0) {
		t.Errorf("without a daemon who is not banned reached %q: %v", who, err)
	}
	d.run()
	mustBe("after a kill", func() bool { return d.refused(talk, "drop_banned", before) })
	mustBe("under the next daemon", asked)
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != many {
		t.Errorf("%d bans under the next daemon", len(bans))
	}
	d.stop()
	d.run() // what was pinned is gone
	if who, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0)); err == nil {
		t.Errorf("after a stop and a start who is banned got %s", who)
	}
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != many {
		t.Errorf("%d bans after a stop and a start", len(bans))
	}
	if out, err := d.tell("ban", "remove", r.Clients[0].IP.String(), "198.51.100.77"); err != nil || out != "1 prefix banned no more\n" {
		t.Errorf("ban remove: %v: %s", err, out)
	}
	r.mustReach(r.Clients[0], 0)
	if out, err := d.tell("ban", "add", r.Clients[0].IP.String(), "--for", "1s"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 20*time.Second, "a ban of a second ends", func() bool {
		_, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0))
		return err == nil && len(list[[]client.Ban](d, "ban", "list")) == many-1
	})
}

// Nobody cuts the gateway off: itself, its next hops, its upstreams, and who is in
// ignoreip.
func TestWhatCannotBeBanned(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	d := r.start(r.configuration() + "ignoreip: [" + r.Clients[1].IP.String() + "]\n")
	for what, said := range map[string]string{
		r.Clients[1].IP.String(): "ignoreip has it", r.Gateway.PublicAddress.String(): "the gateway's own address",
		"198.51.100.53": "an upstream name server", "0.0.0.0/0": "cannot be banned", "fe80::1": "link-local", "::/0": "cannot be banned",
		r.mustLend(r.Clients[0], "echo."+hostName(0)).String(): "an address of the pool", r.Hosts()[0].IP.String(): "a private host's",
	} {
		out, err := d.tell("ban", "add", "203.0.113.200", what)
		if err == nil || !strings.Contains(out, said) {
			t.Errorf("ban add %s: %v: %s", what, err, out)
		}
	}
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 0 {
		t.Errorf("what was refused left %v", bans)
	}
	for _, bad := range [][]string{{"add"}, {"add", "x"}, {"add", "2001:db8::1/64"}, {"add", "192.0.2.1/24"}, {"add", "192.0.2.1", "--for", "0s"}, {"remove", "--file", "/nonexistent"}} {
		if out, err := d.tell(append([]string{"ban"}, bad...)...); err == nil || strings.Count(out, "\n") != 1 {
			t.Errorf("ban %v: %v: %s", bad, err, out)
		}
	}
}

// Who becomes a next hop of the gateway is dropped by no ban that was there before.
func TestBanExemptsANewNextHop(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	if out, err := d.tell("ban", "add", r.Clients[0].IP.String()); err != nil {
		t.Fatal(out)
	}
	if who, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0)); err == nil {
		t.Fatalf("who is banned got %s", who)
	}
	if err := r.Gateway.Route("203.0.113.0/24", r.Clients[0].IP.String()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "the new next hop is not dropped", func() bool {
		_, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0))
		return err == nil
	})
}

// A ban ends an established download at once: when the command has returned no packet of
// it passes any more.
func TestBanEndsADownload(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	endless(t, r.Hosts()[0], 8080)
	d := r.start(r.configuration())
	address := r.mustLend(r.Clients[0], "www."+hostName(0))
	connection, err := r.Clients[0].DialContext(context.Background(), "tcp4", netip.AddrPortFrom(address, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, connection)
	}()
	eventually(t, 10*time.Second, "the download runs", func() bool { return d.counted("forwarded") > 1000 })
	if out, err := d.tell("ban", "add", r.Clients[0].IP.String()); err != nil {
		t.Fatal(out)
	}
	passed := d.counted("forwarded")
	eventually(t, 20*time.Second, "packets of the download are dropped", func() bool { return d.counted("drop_banned") >= 3 })
	if now := d.counted("forwarded"); now != passed {
		t.Errorf("%d packets passed after the ban", now-passed)
	}
	_ = connection.Close()
	<-done
}

// endless sends to everybody who comes, for as long as it takes it.
func endless(t *testing.T, at netns.Node, port int) {
	t.Helper()
	accepts(t, at, port, func(connection net.Conn) {
		defer connection.Close()
		_ = connection.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.Copy(connection, zeros{})
	})
}
