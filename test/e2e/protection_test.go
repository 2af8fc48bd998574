package e2e

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// The guide's lists: who is blocked loses what is open and gets nothing new, in either
// direction, and who is allowed is neither blocked nor to be banned.
func TestGuideProtection(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	r.echoServers()
	d := r.start(r.configuration())
	blocked, allowed, target := r.Clients[0], r.Clients[1], r.Clients[2]
	talk := r.conversation(blocked, 0)
	d.write(r.configuration() + r.guideFrom("sets", "protection.md",
		"203.0.113.0/24, 198.51.100.7", blocked.IP.String()+", "+allowed.IP.String(), "203.0.113.9", allowed.IP.String(), "192.0.2.0/24", target.IP.String()))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("what was open to who is blocked goes on")
	}
	if _, err := lent(blocked, r.Gateway, "echo."+hostName(0)); err == nil {
		t.Error("who is blocked is told names")
	}
	address := r.mustLend(target, "echo."+hostName(0))
	if who, err := echo(blocked, netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is blocked reached %s", who)
	}
	r.mustReach(allowed, 0)
	r.mustReach(target, 0) // blocked are only flows to it
	if who, err := echo(r.Hosts()[0], netip.AddrPort{}, echoAddress(target.IP)); err == nil {
		t.Errorf("a host inside reached %s", who)
	}
	protection := list[[]client.Chain](d, "chain", "list")[0]
	if f := protection.Functions; protection.Name != "protection" || len(f) != 2 || f[1].Name != "blocklist" || f[1].Dropped < 3 {
		t.Errorf("what the protection did: %+v", protection)
	}
	out, err := d.tell("explain", blocked.IP.String(), "--to", "echo."+hostName(0))
	if err != nil || !strings.Contains(out, blocked.IP.String()+" is of set enemies") {
		t.Errorf("explain: %v: %s", err, out)
	}
	if out, err := d.tell("ban", "add", allowed.IP.String()); err == nil || !strings.Contains(out, "the allowlist has it") {
		t.Errorf("ban add: %v: %s", err, out)
	}
}
