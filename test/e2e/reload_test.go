package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// A file with a fault changes nothing, and the command says where it is.
func TestReloadOfABadFileChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	good := r.configuration()
	d := r.start(good)
	generation := d.status().Generation
	bad := strings.Replace(good, "protocol: udp", "protocol: sctp", 1)
	line := 1 + strings.Count(bad[:strings.Index(bad, "sctp")], "\n")
	for _, file := range []struct{ text, complaint string }{
		{bad, fmt.Sprintf("%s:%d: ", d.config, line)},
		{with(good, "pool: {adresses: [198.18.0.32/28]}"), d.config + ":4: "},
		{"", d.config},
		{"\x00\xff{", d.config},
	} {
		d.write(file.text)
		out, err := d.tell("reload")
		if err == nil || !strings.Contains(out, file.complaint) {
			t.Errorf("reload ended with %v and without %q: %s", err, file.complaint, out)
		}
	}
	if now := d.status().Generation; now != generation {
		t.Errorf("generation %d, before the bad files %d", now, generation)
	}
	r.mustReach(r.Clients[0], 0)
	d.write(good)
	if out, err := d.tell("reload"); err != nil || d.status().Generation != generation+1 {
		t.Errorf("reload of the good file: %v, generation %d: %s", err, d.status().Generation, out)
	}
}

// mustReach asks for a host's echo service and reaches it.
func (r *realm) mustReach(from netns.Node, host int) {
	r.t.Helper()
	address := r.mustLend(from, "echo."+hostName(host))
	if who, err := echo(from, netip.AddrPort{}, echoAddress(address)); err != nil || who != hostName(host) {
		r.t.Errorf("%s reached %q: %v", hostName(host), who, err)
	}
}

// conversation is an open connection from outside to a host's echo service.
func (r *realm) conversation(from netns.Node, host int) net.Conn {
	r.t.Helper()
	address := r.mustLend(from, "echo."+hostName(host))
	connection, err := from.DialContext(context.Background(), "udp4", echoAddress(address).String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = connection.Close() })
	if _, err := echoOn(connection); err != nil {
		r.t.Fatal(err)
	}
	return connection
}

// refuses sends one packet of a conversation and reports that the gateway dropped it for that reason.
func (d *daemon) refuses(talk net.Conn, reason model.Reason) bool {
	d.t.Helper()
	before := d.counted(reason)
	d.sends(talk)
	return d.refused(talk, reason, before)
}

// sends sends one packet of a conversation.
func (d *daemon) sends(talk net.Conn) {
	d.t.Helper()
	if _, err := talk.Write([]byte("x")); err != nil {
		d.t.Fatal(err)
	}
}

// refused reports that one packet, which was sent when before were counted for the reason, was dropped for it. A daemon
// that takes the data plane over knows what was counted before it.
func (d *daemon) refused(talk net.Conn, reason model.Reason, before uint64) bool {
	d.t.Helper()
	for range 200 {
		_ = talk.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := talk.Read(make([]byte, 100)); err == nil {
			return false
		}
		if d.counted(reason) > before {
			return true
		}
	}
	d.t.Errorf("one packet was neither answered nor counted as %s: %+v", reason, d.status().Reasons)
	return false
}

// What a reload closes ends also where it is established; the rest goes on.
func TestReloadEndsWhatItCloses(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, Clients: 1})
	r.echoServers()
	d := r.start(r.configuration())
	var talks []net.Conn
	for host := range 3 {
		talks = append(talks, r.conversation(r.Clients[0], host))
	}
	open := r.mustLend(r.Clients[0], "echo."+hostName(1)) // a standing reservation too
	changed := without(r.configuration(), "echo."+hostName(0))
	whole := hostEntry(1, r.Hosts()[1].IP)
	d.write(strings.Replace(changed, whole, "", 1))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(talks[1], "drop_service_closed") {
		t.Error("a session to a host that is no more goes on")
	}
	if who, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(open)); err == nil {
		t.Errorf("a reservation to a host that is no more let in, to %s", who)
	}
	if who, err := echoOn(talks[2]); err != nil || who != hostName(2) {
		t.Errorf("a session that nothing closed reached %q: %v", who, err)
	}
	if d.counted("drop_service_closed") == 0 {
		t.Error("no drop_service_closed was counted")
	}
	for _, name := range []string{"echo." + hostName(0), "echo." + hostName(1), hostName(1)} {
		if address, err := lent(r.Clients[0], r.Gateway, name); err == nil {
			t.Errorf("%s is closed and got %s", name, address)
		}
	}
	if !d.refuses(talks[0], "drop_service_closed") {
		t.Error("a session to a service that is no more goes on")
	}
}

func TestReloadOpensAtOnce(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.echoServers()
	all := r.configuration()
	d := r.start(strings.Replace(all, hostEntry(1, r.Hosts()[1].IP), "", 1))
	r.mustReach(r.Clients[0], 0)
	if address, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(1)); err == nil {
		t.Fatalf("an unknown host got %s", address)
	}
	d.write(all)
	if out, err := d.tell("reload"); err != nil || !strings.Contains(out, "2 hosts") {
		t.Fatalf("reload: %v: %s", err, out)
	}
	r.mustReach(r.Clients[0], 1)

	// The same by SIGHUP, and a pool that moves.
	moved := with(all, "pool: {addresses: [198.18.0.50]}")
	generation := d.status().Generation
	d.write(moved)
	if err := d.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "SIGHUP reloads", func() bool { return d.status().Generation > generation })
	if address := r.mustLend(r.Clients[0], "echo."+hostName(1)); address.String() != "198.18.0.50" {
		t.Errorf("%s was lent after the pool moved", address)
	}
	r.mustReach(r.Clients[0], 1)
	// A bad file by SIGHUP ends nothing.
	d.write("nonsense")
	if err := d.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the log tells of the bad file", func() bool {
		return strings.Contains(d.logged(), "reload failed")
	})
	r.mustReach(r.Clients[0], 1)
}

// Keys that only a restart can change are refused by name, and nothing else of
// the file is put into force.
func TestReloadRefusesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	configuration := r.configuration()
	d := r.start(configuration)
	generation := d.status().Generation
	for key, line := range map[string]string{
		"interfaces": "interfaces: {public: [eth1], private: [eth0]}",
		"capacity":   "capacity: 200000",
		"dns.public": `dns: {public: "198.18.0.1:5353", private: "10.0.0.1:53"}`,
	} {
		d.write(with(configuration, line, "pool: {addresses: [198.18.0.60]}"))
		out, err := d.tell("reload")
		if err == nil || !strings.Contains(out, key) || !strings.Contains(out, "restart") {
			t.Errorf("%s: %v: %s", key, err, out)
		}
	}
	if now := d.status().Generation; now != generation {
		t.Errorf("generation %d, before %d", now, generation)
	}
	if address := r.mustLend(r.Clients[0], "echo."+hostName(0)); !r.Gateway.Pool.Contains(address) {
		t.Errorf("%s was lent: a refused file took effect", address)
	}
}
