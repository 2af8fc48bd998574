package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// hostSettings are what a gateway sets on its interfaces, and the switches
// that it must leave alone.
func hostSettings(t *testing.T, n *netns.Gateway) map[string]string {
	t.Helper()
	found := map[string]string{}
	keys := []string{"net/ipv4/ip_forward", "net/ipv4/conf/all/rp_filter", "net/ipv4/conf/all/accept_local"}
	for _, ifname := range append(append([]string{"lo"}, n.Public...), n.Private...) {
		for _, setting := range []string{"forwarding", "accept_local", "rp_filter"} {
			keys = append(keys, "net/ipv4/conf/"+ifname+"/"+setting)
		}
	}
	for _, key := range keys {
		value, err := n.Sysctl(key)
		if err != nil {
			t.Fatal(err)
		}
		found[key] = value
	}
	return found
}

// attached lists the interfaces that have a program.
func attached(t *testing.T, n *netns.Gateway) []string {
	t.Helper()
	found, err := n.Attached()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantGone checks that a clean stop left nothing.
func wantGone(t *testing.T, d *daemon, before map[string]string) {
	t.Helper()
	if after := hostSettings(t, d.gateway); !maps.Equal(before, after) {
		t.Errorf("settings after the stop:\n%v\nbefore the start:\n%v", after, before)
	}
	if names := attached(t, d.gateway); len(names) > 0 {
		t.Errorf("programs are still attached to %v", names)
	}
	for _, path := range []string{filepath.Join(pins, d.instance), client.SocketPath(d.instance)} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
}

// Settings that differ from what the gateway wants and from each other, so that
// putting back is seen.
func oddSettings(t *testing.T, n *netns.Gateway) map[string]string {
	t.Helper()
	for key, value := range map[string]string{
		"net/ipv4/conf/eth0/rp_filter": "1", "net/ipv4/conf/eth1/forwarding": "0", "net/ipv4/conf/eth0/forwarding": "1",
	} {
		if err := n.SetSysctl(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return hostSettings(t, n)
}

func TestStopPutsEverythingBack(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	before := oddSettings(t, r.Gateway)
	d := r.start(r.configuration())
	if during := hostSettings(t, r.Gateway); maps.Equal(before, during) || len(attached(t, r.Gateway)) != 3 {
		t.Fatal("the daemon changed nothing: the test shows nothing")
	}
	d.stop()
	wantGone(t, d, before)
	d.run()
	d.kill()
	if len(attached(t, r.Gateway)) != 3 {
		t.Error("a killed daemon took its programs with it")
	}
	d.run()
	d.stop()
	wantGone(t, d, before)
}

func TestStopThatKeepsTheDataPlane(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	echoServer(t, r.Servers[0], 7, "server")
	before := oddSettings(t, r.Gateway)
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	d.run("--keep-dataplane")
	connection, err := r.Hosts()[0].DialContext(context.Background(), "udp4", fmt.Sprintf("%s:7", r.Servers[0].IP))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := echoOn(connection); err != nil {
		t.Fatal(err)
	}
	d.stop()
	if _, err := echoOn(connection); err != nil {
		t.Errorf("the session ended with the daemon: %v", err)
	}
	if _, err := os.Lstat(client.SocketPath(d.instance)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there (%v)", err)
	}
	d.run()
	if !d.status().Adopted || len(d.sessions()) != 1 {
		t.Errorf("adopted %v, %d sessions", d.status().Adopted, len(d.sessions()))
	}
	d.stop()
	wantGone(t, d, before)
}

// A start that fails leaves nothing behind.
func TestFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	before := oddSettings(t, r.Gateway)
	for name, c := range map[string]struct{ line, complaint string }{
		"interface":   {"interfaces: {public: [eth0], private: [eth1, eth9]}", "eth9"},
		"DNS address": {`dns: {public: "192.0.2.1:53", private: "10.0.0.1:53"}`, "192.0.2.1:53"},
	} {
		d := r.prepare(r.Gateway, r.ID(), with(r.configuration(), c.line))
		out, err := r.Gateway.Command(context.Background(), program, "run", "-c", d.config, "--instance", d.instance).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.complaint) {
			t.Errorf("%s: started, or said nothing of %s: %v\n%s", name, c.complaint, err, out)
		}
		wantGone(t, d, before)
	}
}

// Two gateways of two namespaces know nothing of each other.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Gateways: 2, Hosts: 1, Clients: 1})
	first, second := r.Gateways[0], r.Gateways[1]
	echoServer(t, first.Hosts[0], 7, "first")
	echoServer(t, second.Hosts[0], 7, "second")
	wanted := map[*netns.Gateway]string{first: "first", second: "second"}
	reach := func(g *netns.Gateway) {
		t.Helper()
		address, err := lent(r.Clients[0], g, "echo."+hostName(0))
		if err != nil {
			t.Fatal(err)
		}
		if who, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(address)); err != nil || who != wanted[g] {
			t.Errorf("reached %q in place of %s: %v", who, wanted[g], err)
		}
	}
	settings := hostSettings(t, first)
	one := r.startAt(first, r.ID()+"-1", configurationOf(first))
	two := r.startAt(second, r.ID()+"-2", configurationOf(second))
	reach(first)
	reach(second)
	one.kill()
	reach(second)
	one.run()
	reach(first)
	if n := len(two.sessions()); n == 0 || two.status().Adopted {
		t.Errorf("the second gateway has %d sessions, adopted %v", n, two.status().Adopted)
	}
	one.stop()
	wantGone(t, one, settings)
	reach(second)

	// One name, one daemon.
	out, err := first.Command(context.Background(), program, "run", "-c", one.config, "--instance", two.instance).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "instance "+two.instance+" runs already") {
		t.Errorf("a second daemon of the same instance: %v\n%s", err, out)
	}
	reach(second)
}
