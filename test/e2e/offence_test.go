package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// ends waits until the ban of an address is over.
func (j journal) ends(a netip.Addr) {
	j.t.Helper()
	eventually(j.t, 20*time.Second, "the ban of "+a.String()+" ends", func() bool {
		_, banned := j.banned(a)
		return !banned
	})
}

// Who offends again is banned for longer, also when the daemon was killed between, until
// somebody forgives.
func TestGeofenceDefect8_OffencesAreRemembered(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	path := filepath.Join(r.directory, "auth.log")
	d := r.start(r.configuration() + "bans: {factor: 60, cap: 2h}\njails:\n" + jail("ssh", path, ", maxretry: 1, bantime: 1s"))
	j := journal{d, path}.watched()
	guesser := r.Clients[0].IP
	offends := func(n int, lasts time.Duration) {
		t.Helper()
		j.watched().write(guessed("root", guesser))
		j.mustBecomeBanned(guesser)
		if b, _ := j.banned(guesser); b.Offence != n || b.Until.Sub(b.Since).Round(time.Second) != lasts || b.Reason != fmt.Sprint("jail ssh: 1 failures, offence ", n) {
			t.Errorf("offence %d: %+v", n, b)
		}
	}
	offends(1, time.Second)
	j.ends(guesser)
	d.kill()
	d.run()
	offends(2, time.Minute)
	d.kill()
	d.run()
	if b, _ := j.banned(guesser); b.Offence != 2 {
		t.Errorf("after a kill: %+v", b)
	}
	if out, err := d.tell("ban", "remove", guesser.String()); err != nil {
		t.Fatal(out)
	}
	offends(1, time.Second)
}

// Who comes onto the allowlist or into ignoreip is dropped by no ban that was there
// before, also of a wider prefix, and by those again when it is off it.
func TestGeofenceDefect4_AllowlistComesBeforeBans(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	r.echoServers()
	d := r.start(r.configuration())
	first, second, third := r.Clients[0], r.Clients[1], r.Clients[2]
	wide := netip.PrefixFrom(third.IP, 31).Masked()
	if out, err := d.tell("ban", "add", first.IP.String(), second.IP.String(), wide.String()); err != nil {
		t.Fatal(out)
	}
	reaches := func(c netns.Node, want bool) {
		t.Helper()
		if _, err := lent(c, r.Gateway, "echo."+hostName(0)); (err == nil) != want {
			t.Errorf("%s: %v, want %t", c.IP, err, want)
		}
	}
	for _, c := range []netns.Node{first, second, third} {
		reaches(c, false)
	}
	d.write(r.configuration() + "ignoreip: [" + second.IP.String() + "]\nprotection: {allowlist: [" + first.IP.String() + ", " + third.IP.String() + "]}\n")
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	for _, c := range []netns.Node{first, second, third} {
		reaches(c, true)
	}
	out, err := d.tell("ban", "list")
	if err != nil || strings.Count(out, "; exempt: the allowlist has it") != 1 || !strings.Contains(out, "ignoreip has it") || !strings.Contains(out, "; exempt: in part") {
		t.Errorf("ban list: %v: %s", err, out)
	}
	d.stop()
	d.run()
	for _, c := range []netns.Node{first, second, third} {
		reaches(c, true)
	}
	d.write(r.configuration())
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	for _, c := range []netns.Node{first, second, third} {
		reaches(c, false)
	}
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 3 {
		t.Errorf("the bans are %v", bans)
	}
}

// Who offends by IPv6 is banned with its /64, and reaches the gateway itself no more,
// until somebody forgives.
func TestJailBansIPv6(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, IPv6: true})
	own, guesser := netip.MustParseAddr("2001:db8:5::1"), netip.MustParseAddr("2001:db8:6::7")
	if err := errors.Join(r.Gateway.Address("eth0", own.String()+"/32"), r.Clients[0].Address("eth0", guesser.String()+"/32")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.directory, "auth.log")
	d := r.start(r.configuration() + "ipv6: forward\njails:\n" + jail("ssh", path, ", maxretry: 1"))
	j := journal{d, path}.watched()
	port := netip.AddrPortFrom(own, 2222)
	listener, err := r.Gateway.Listen("tcp6", port.String())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reaches := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		connection, err := r.Clients[0].DialContext(ctx, "tcp6", port.String())
		if err != nil {
			return false
		}
		return connection.Close() == nil
	}
	eventually(t, 20*time.Second, "the gateway is reached by IPv6", func() bool { return reaches(time.Second) })
	j.write(guessed("root", guesser))
	eventually(t, 20*time.Second, "the /64 is banned", func() bool {
		return fmt.Sprint(prefixesOf(list[[]client.Ban](d, "ban", "list"))) == "[2001:db8:6::/64]"
	})
	if reaches(time.Second) || d.counted("drop_banned") == 0 {
		t.Errorf("who is banned reaches the gateway, or %d packets were dropped", d.counted("drop_banned"))
	}
	d.kill()
	d.run()
	if reaches(time.Second) {
		t.Error("under the next daemon who is banned reaches the gateway")
	}
	const wider = "0 prefixes banned no more; a wider ban goes on: realmgate ban remove 2001:db8:6::/64\n"
	if out, err := d.tell("ban", "remove", "2001:db8:6::77"); err != nil || out != wider {
		t.Errorf("ban remove of an address of it: %v: %s", err, out)
	}
	if out, err := d.tell("ban", "remove", "2001:db8:6::/64"); err != nil || out != "1 prefix banned no more\n" {
		t.Errorf("ban remove: %v: %s", err, out)
	}
	if !reaches(10 * time.Second) {
		t.Error("who was forgiven does not reach the gateway")
	}
}

// The guide's bans double, and take a subnet with enough offenders as a whole.
func TestGuideBans(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	path := filepath.Join(r.directory, "auth.log")
	configuration := r.configuration() + r.guideFrom("jails", "bans.md", "/var/log/auth.log", path, "bantime: 1h", "bantime: 1s, maxretry: 1")
	d := r.start(configuration)
	j := journal{d, path}.watched()
	guesser := r.Clients[0].IP
	for n := 1; n <= 2; n++ {
		j.write(guessed("root", guesser))
		j.mustBecomeBanned(guesser)
		if b, _ := j.banned(guesser); b.Offence != n || b.Until.Sub(b.Since).Round(time.Second) != time.Duration(n)*time.Second {
			t.Errorf("offence %d: %+v", n, b)
		}
		j.ends(guesser)
	}
	d.write(strings.ReplaceAll(configuration, "bantime: 1s", "bantime: 1h"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	j.watched()
	for n := range 5 {
		j.write(guessed("root", netip.AddrFrom4([4]byte{203, 0, 113, byte(n)})))
	}
	eventually(t, 20*time.Second, "the subnet is banned", func() bool {
		bans := list[[]client.Ban](d, "ban", "list")
		return len(bans) == 1 && bans[0].Prefix.String() == "203.0.113.0/24" && strings.HasPrefix(bans[0].Reason, "5 addresses of it were banned, the last: jail ssh: 1 failures, offence 1")
	})
}
