package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A set's file says who is denied, as it is at each reload; one with a bad line changes
// nothing.
func TestSetOfAFileDenies(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	d := r.start(r.configuration())
	d.write(r.configuration() + fmt.Sprintf(`sets: [{name: bad, file: bad.txt}, {name: none, addresses: [203.0.113.0/24]}]
chains:
  - name: echo
    match: [{set: none}, {service: echo.%s, set: bad}, {direction: out}]
    functions: [{use: filter, deny: [{set: none}, {set: bad}]}]
`, hostName(0)))
	list := func(lines ...string) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(d.config), "bad.txt"), []byte("# not wanted\n"+strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := r.Clients[0].IP.String(), r.Clients[1].IP.String()
	talk := r.conversation(r.Clients[0], 0)
	list("203.0.113.7", second, "203.0.113.8")
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	address := r.mustLend(r.Clients[1], "echo."+hostName(0))
	if who, err := echo(r.Clients[1], netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is in the set reached %s", who)
	}
	if who, err := echoOn(talk); err != nil || who != hostName(0) {
		t.Errorf("who is not in the set reached %q: %v", who, err)
	}
	list(first, "::ffff:192.0.2.1")
	if out, err := d.tell("reload"); err == nil || !strings.Contains(out, "bad.txt:3: ::ffff:192.0.2.1 is IPv4 within IPv6") {
		t.Errorf("a bad line: %v: %s", err, out)
	}
	if who, err := echoOn(talk); err != nil || who != hostName(0) {
		t.Errorf("after a reload that was refused: %q, %v", who, err)
	}
	list(first)
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("a session of who is in the set now goes on")
	}
	r.mustReach(r.Clients[1], 0)
}
