package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// whyOf is what status says about an interface of the gateway.
func (d *daemon) whyOf(name string) client.Interface {
	d.t.Helper()
	for _, i := range d.status().Interfaces {
		if i.Name == name {
			return i
		}
	}
	d.t.Fatalf("%s is not listed", name)
	return client.Interface{}
}

// A driver runs XDP programs up to some MTU: with jumbo frames the interface is served at tcx, status says why, and
// it is back in the driver when the MTU is.
func TestJumboFrames(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	mtu := func(octets string) {
		t.Helper()
		for _, end := range [][2]string{{"switch", "gateway0"}, {"gateway", "eth1"}, {"switch", "host1"}, {"host1", "eth0"}} {
			r.command(end[0], "ip", "link", "set", end[1], "mtu", octets)
		}
	}
	mtu("9000")
	d := r.start(atXDP(r.configuration(), "eth0", "eth1"))
	if i := d.whyOf("eth1"); i.Mode != "tcx" || !strings.Contains(i.Why, "its driver refuses XDP") {
		t.Errorf("with jumbo frames eth1 is at %s, because %q", i.Mode, i.Why)
	}
	r.everything()
	if err := quietly(r.Hosts()[0].Command(t.Context(), "ping", "-c", "3", "-W", "5", "-M", "do", "-s", "8972", r.Gateway.PrivateAddress.String())); err != nil {
		t.Errorf("jumbo echoes: %v", err)
	}
	mtu("1500")
	eventually(t, 10*time.Second, "eth1 is back in its driver", func() bool { return d.whyOf("eth1").Mode == "xdp" })
	r.bulk("back in the driver", r.Hosts()[0], r.Servers[0].IP, 8080)
}

// Somebody else's XDP program is there first: the interface is served at tcx, behind it, and status names it and how to take it off.
func TestForeignXDPIsNamed(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	r.command("gateway", "ip", "link", "set", "dev", "eth0", "xdpdrv", "obj", "../../internal/nf/capture_bpfel.o", "sec", "xdp")
	d := r.start(atXDP(r.configuration(), "eth0", "eth1"))
	if i := d.whyOf("eth0"); i.Mode != "tcx" || !strings.Contains(i.Why, "busy") {
		t.Errorf("eth0 is at %s, because %q", i.Mode, i.Why)
	}
	line := d.warning("of somebody else sees the packets of eth0")
	if line == "" {
		t.Fatalf("status does not name it: %q", d.status().Warnings)
	}
	r.command("gateway", "sh", "-c", line[strings.LastIndex(line, ": ")+2:])
	eventually(t, 30*time.Second, "the line is gone", func() bool { return d.warning("of somebody else") == "" })
	r.everything()
}

// A machine with Docker, whose bridge is the private side: what it closes and what translates again is named when the gateway
// starts, and with the commands of these lines containers load up and down.
func TestDockerIsNamed(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	r.bridgeInside()
	for _, line := range []string{
		"iptables -N DOCKER-USER", "iptables -P FORWARD DROP", "iptables -A FORWARD -j DOCKER-USER",
		"iptables -A FORWARD -o br0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
		"iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE",
	} {
		r.command("gateway", "sh", "-c", line)
	}
	if said := r.check(r.Gateway.Namespace, r.configuration()); !strings.Contains(said, "interface eth1 is a port of br0") {
		t.Errorf("check says of a port of a bridge: %s", said)
	}
	d := r.start(with(r.configuration(), "interfaces: {public: [eth0], private: [br0]}"))
	for _, what := range []string{"closed by Docker", "translates again on eth0"} {
		line := d.warning(what)
		if line == "" {
			t.Fatalf("status does not say %q: %q", what, d.status().Warnings)
		}
		r.command("gateway", "sh", "-c", line[strings.LastIndex(line, ": ")+2:])
	}
	eventually(t, 30*time.Second, "the lines are gone", func() bool { return d.warning("Docker") == "" && d.warning("translates again") == "" })
	r.everything()
}
