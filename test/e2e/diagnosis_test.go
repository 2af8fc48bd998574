package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// check runs the command on the configuration, in a namespace of the lab.
func (r *realm) check(at *netns.Namespace, configuration string) string {
	r.t.Helper()
	file := r.directory + "/check.yaml"
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		r.t.Fatal(err)
	}
	out, err := at.Command(r.t.Context(), program, "check", "-c", file).CombinedOutput()
	if err != nil {
		r.t.Fatalf("check: %v: %s", err, out)
	}
	return string(out)
}

// What newcomers hit is told by check, by status and, once, by the log: addresses of the
// router, of everybody and of a neighbour, and a host in no network.
func TestNewcomersAreWarned(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	c := r.Clients[0].IP
	configuration := with(r.configuration(), fmt.Sprintf("pool: {addresses: [198.18.0.32/30, %s, 198.18.0.254-198.18.0.255]}", c), "ipv6: forward") +
		hostEntry(7, c.Next()) + strings.Replace(hostEntry(8, c), c.String(), "192.168.55.9", 1)
	warnings := []string{
		c.String() + " of pool.addresses is in use by a neighbour on eth0",
		"198.18.0.254 of pool.addresses is the next hop of a route",
		"198.18.0.255 of pool.addresses is the broadcast address of 198.18.0.0/24 on eth0",
		"host host8.foo.example. (and 1 more): " + c.Next().String() + " is in no network of a private interface",
	}
	said := r.check(r.Gateway.Namespace, configuration)
	elsewhere := r.check(r.Clients[0].Namespace, configuration)
	for _, w := range warnings {
		if !strings.Contains(said, "warning: ") || !strings.Contains(said, w) {
			t.Errorf("check does not say %q:\n%s", w, said)
		}
		if strings.Contains(elsewhere, w) {
			t.Errorf("check says on a machine that is not the gateway:\n%s", elsewhere)
		}
	}
	if !strings.Contains(elsewhere, "ipv6: forward keeps no sessions") {
		t.Errorf("check does not warn of IPv6:\n%s", elsewhere)
	}
	d := r.start(configuration)
	for _, w := range warnings {
		eventually(t, 10*time.Second, "status says "+w, func() bool { return d.warning(w) != "" })
	}
	said = r.check(r.Gateway.Namespace, configuration) // the data plane answers for the pool now
	if strings.Contains(said, "more) is in use") || !strings.Contains(said, warnings[0]) {
		t.Errorf("beside the running gateway check says:\n%s", said)
	}
	d.write(r.configuration())
	if out, err := d.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, 10*time.Second, "status has nothing to say", func() bool { return len(d.status().Warnings) == 0 })
	for _, w := range warnings {
		if n := strings.Count(d.logged(), w); n != 1 {
			t.Errorf("the log says %d times %q", n, w)
		}
	}
	if said := r.check(r.Gateway.Namespace, r.configuration()); strings.Contains(said, "warning") {
		t.Errorf("of a sound configuration check says:\n%s", said)
	}
}

// A configuration that fits leaves nothing to do, though the data plane answers ARP for the
// pool on two interfaces of one network.
func TestOwnAnswersAreNoNeighbours(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, PublicInterfaces: 2})
	r.command("router", "ip", "link", "set", "gateway-1", "master", "public0")
	d := r.start(r.configuration())
	time.Sleep(4 * time.Second) // it asks three times, a second apart
	if list := d.status().Warnings; len(list) > 0 {
		t.Errorf("status says %q", list)
	}
	if said := r.check(r.Gateway.Namespace, r.configuration()); strings.Contains(said, "warning") {
		t.Errorf("check says:\n%s", said)
	}
}

// An interface that vanished is said to within a second, and served as before when it is
// back: in its driver, where that is wanted, as soon as its far side lets it.
func TestInterfaceVanishesAndReturns(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	d := r.start(atXDP(r.configuration(), "eth0", "eth1"))
	r.mustReach(r.Clients[0], 0)
	mac, err := r.Gateway.MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	r.command("gateway", "ip", "link", "del", "eth0")
	eventually(t, time.Second, "status says that eth0 is gone", func() bool {
		return d.warning("interface eth0 has vanished") != "" && d.interfaceOf("eth0") == "absent false"
	})
	// By hand, as people do it: receive offload of the far side comes last.
	r.command("gateway", "ip", "link", "add", "eth0", "address", mac.String(), "type", "veth", "peer", "name", "gateway-0", "netns", r.ID()+"-router")
	r.command("gateway", "ethtool", "-K", "eth0", "tx", "off", "gro", "off")
	r.command("router", "ethtool", "-K", "gateway-0", "tx", "off")
	for _, arguments := range [][]string{{"link", "set", "gateway-0", "master", "public0"}, {"link", "set", "gateway-0", "up"}} {
		r.command("router", append([]string{"ip"}, arguments...)...)
	}
	for _, arguments := range [][]string{{"link", "set", "eth0", "up"}, {"address", "add", r.Gateway.PublicAddress.String() + "/24", "dev", "eth0"},
		{"route", "add", "default", "via", "198.18.0.254"}} {
		r.command("gateway", append([]string{"ip"}, arguments...)...)
	}
	eventually(t, 5*time.Second, "eth0 is back at tcx", func() bool { return d.interfaceOf("eth0") == "tcx false" })
	r.receiveOffload("router", "gateway-0", true)
	eventually(t, 5*time.Second, "eth0 has XDP again", func() bool { return d.interfaceOf("eth0") == "xdp true" })
	eventually(t, 5*time.Second, "nothing is left to do", func() bool { return d.warning("eth0") == "" })
	r.mustReach(r.Clients[0], 0)
}
