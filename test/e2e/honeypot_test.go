package e2e

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// connects tries a TCP connection and ends it.
func connects(from netns.Node, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return err
	}
	return c.Close()
}

// The guide's honeypot bans who connects to it, at an address of the pool as at the
// gateway, and ends what it has open. Who may not be banned is not.
func TestGuideHoneypot(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 4})
	r.echoServers()
	scanner, other, friend, quiet := r.Clients[0], r.Clients[1], r.Clients[2], r.Clients[3]
	d := r.start(r.configuration() + "ignoreip: [" + friend.IP.String() + "]\n" + r.guideFrom("protection", "honeypot.md"))
	talk, talk2 := r.conversation(scanner, 0), r.conversation(quiet, 0)
	pool := r.mustLend(quiet, "echo."+hostName(0))
	r.command("gateway", "ip", "neigh", "flush", "all") // the kernel asks for who is to be answered
	for _, c := range []struct {
		from netns.Node
		to   netip.AddrPort
	}{{scanner, netip.AddrPortFrom(pool, 5905)}, {other, netip.AddrPortFrom(r.Gateway.PublicAddress, 23)}} {
		if err := connects(c.from, c.to); err != nil {
			t.Errorf("the honeypot does not answer at %s: %v", c.to, err)
		}
	}
	for from, to := range map[netns.Node]netip.AddrPort{quiet: netip.AddrPortFrom(pool, 24), friend: netip.AddrPortFrom(r.Gateway.PublicAddress, 2323)} {
		if err := connects(from, to); err == nil {
			t.Errorf("somebody answers %s where there is no honeypot for it", from.IP)
		}
	}
	for a, reason := range map[netip.Addr]string{scanner.IP: "honeypot: tcp port 5905", other.IP: "honeypot: tcp port 23"} {
		j := journal{daemon: d}
		j.mustBecomeBanned(a)
		if b, _ := j.banned(a); !strings.HasPrefix(b.Reason, reason) {
			t.Errorf("%s is banned for %q", a, b.Reason)
		}
	}
	if !d.refuses(talk, "drop_banned") {
		t.Error("what the banned had open goes on")
	}
	if err := connects(other, netip.AddrPortFrom(r.Gateway.PublicAddress, 23)); err == nil {
		t.Error("who is banned is answered")
	}
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 2 {
		t.Errorf("banned are %+v", bans)
	}
	if _, err := echoOn(talk2); err != nil {
		t.Error("what others have open does not go on")
	}
	r.mustReach(friend, 0)
}
