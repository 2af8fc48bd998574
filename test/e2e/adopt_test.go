package e2e

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// What an earlier daemon left is adopted only where it fits; else it goes, the
// log says why, and the gateway serves all the same.
func TestAdoptionIsRefusedForAnotherCapacity(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	before := oddSettings(t, r.Gateway)
	d := r.start(r.configuration())
	r.mustReach(r.Clients[0], 0)
	d.kill()
	d.write(with(r.configuration(), "capacity: 50000"))
	d.run()
	if d.status().Adopted || len(d.sessions()) != 0 || !strings.Contains(d.logged(), "data plane of an earlier daemon discarded") {
		t.Errorf("adopted %v, %d sessions", d.status().Adopted, len(d.sessions()))
	}
	if got := d.status().Sessions.Capacity; got != 50000 {
		t.Errorf("room for %d sessions", got)
	}
	r.mustReach(r.Clients[0], 0)
	d.stop()
	wantGone(t, d, before)
}

// An instance that moves to another namespace leaves the first one clean, and
// does not take its settings along.
func TestAdoptionIsRefusedForAnotherNamespace(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Gateways: 2, Hosts: 1, Clients: 1})
	first, second := r.Gateways[0], r.Gateways[1]
	echoServer(t, second.Hosts[0], 7, "second")
	if err := second.SetSysctl("net/ipv4/conf/eth1/forwarding", "1"); err != nil {
		t.Fatal(err)
	}
	if err := second.SetSysctl("net/ipv4/conf/eth1/rp_filter", "1"); err != nil {
		t.Fatal(err)
	}
	before := hostSettings(t, second)
	d := r.startAt(first, r.ID(), configurationOf(first))
	d.kill()
	d.gateway = second
	d.write(configurationOf(second))
	d.run()
	if d.status().Adopted || !strings.Contains(d.logged(), "data plane of an earlier daemon discarded") {
		t.Errorf("adopted %v", d.status().Adopted)
	}
	if names := attached(t, first); len(names) > 0 {
		t.Errorf("programs are still attached to %v of the first namespace", names)
	}
	if address, err := lent(r.Clients[0], second, "echo."+hostName(0)); err != nil {
		t.Errorf("%s, %v", address, err)
	}
	d.stop()
	if after := hostSettings(t, second); !maps.Equal(before, after) {
		t.Errorf("settings of the second namespace after the stop:\n%v\nbefore the start:\n%v", after, before)
	}
}

// An interface that is not the gateway's any more is left alone by the next
// daemon, with its settings put back.
func TestAdoptionWithoutAnInterface(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, PrivateInterfaces: 2})
	r.echoServers()
	before := oddSettings(t, r.Gateway)
	d := r.start(r.configuration())
	r.mustReach(r.Clients[0], 0)
	d.kill()
	d.write(with(r.configuration(), "interfaces: {public: [eth0], private: [eth1]}"))
	d.run()
	if names := strings.Join(attached(t, r.Gateway), " "); names != "eth0 eth1 rgfrag0p" {
		t.Errorf("programs are attached to %s", names)
	}
	if key := "net/ipv4/conf/eth2/accept_local"; hostSettings(t, r.Gateway)["net/ipv4/conf/eth2/forwarding"] != before["net/ipv4/conf/eth2/forwarding"] {
		t.Errorf("%s is not put back", key)
	}
	r.mustReach(r.Clients[0], 0)
	d.stop()
	wantGone(t, d, before)
}

// Serves within 2 s of its start, with the default capacity of a million
// sessions; on a machine that others use, the bound here is wider.
func TestServesSoonAfterStart(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	d := r.prepare(r.Gateway, r.ID(), with(r.configuration(), "capacity: 1000000"))
	for _, what := range []string{"the first start", "the start after a kill"} {
		command := r.Gateway.Command(context.Background(), program, "run", "-c", d.config, "--instance", d.instance)
		began := time.Now()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		d.command = command
		for {
			if _, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0)); err == nil {
				break
			}
			if time.Since(began) > 15*time.Second {
				t.Fatalf("no name was answered 15 s after %s", what)
			}
		}
		t.Logf("%s: the first name was answered after %s", what, time.Since(began).Round(time.Millisecond))
		r.mustReach(r.Clients[0], 0)
		d.kill()
	}
}
