package e2e

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// An operator ends sessions: what was let in by name is out, what comes from
// inside begins anew, and the address that was lent is free for others.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
	r.echoServers()
	echoServer(t, r.Servers[0], 7, "server")
	d := r.start(r.configuration())
	host, outside := r.Hosts()[0], r.Clients[0]
	out := func() {
		t.Helper()
		if who, err := echo(host, netip.AddrPortFrom(host.IP, 5000), netip.AddrPortFrom(r.Servers[0].IP, 7)); err != nil || who != "server" {
			t.Fatalf("outward: %q, %v", who, err)
		}
	}
	out()
	connection, err := outside.DialContext(t.Context(), "udp4", echoAddress(r.mustLend(outside, "echo."+hostName(0))).String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if who, err := echoOn(connection); err != nil || who != hostName(0) {
		t.Fatalf("inward: %q, %v", who, err)
	}
	if n := len(d.sessions()); n != 2 {
		t.Fatalf("%d sessions, want 2", n)
	}
	end := func(want int, filter ...string) {
		t.Helper()
		text, err := d.tell(append([]string{"sessions", "end", "-o", "json"}, filter...)...)
		var ended client.Ended
		if err != nil || json.Unmarshal([]byte(text), &ended) != nil || ended.Sessions != want {
			t.Fatalf("sessions end %v: %s, %v; want %d", filter, text, err, want)
		}
	}
	end(0, "--address", "192.0.2.1")
	end(1, "--host", "echo."+hostName(0))
	if left := d.sessions(); len(left) != 1 || left[0].Origin != "inside" {
		t.Fatalf("left: %+v", left)
	}
	refused := d.counted("drop_no_reservation")
	if _, err := connection.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a packet of an ended session is refused", func() bool {
		return d.counted("drop_no_reservation") > refused
	})
	for _, b := range list[[]client.Binding](d, "pool") {
		if b.Sessions != 0 {
			t.Errorf("%s still has %d sessions", b.Service, b.Sessions)
		}
	}
	r.mustReach(outside, 0)
	end(len(d.sessions()), "--all")
	if left := d.sessions(); len(left) != 0 {
		t.Fatalf("left: %+v", left)
	}
	out()
}
