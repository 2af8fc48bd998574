package e2e

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// everything is what must work on every kind of link: names, pages, bulk data
// both ways and in both directions, datagrams and echoes.
func (r *realm) everything() {
	r.t.Helper()
	r.webServers()
	r.echoServers()
	host, server, client := r.Hosts()[0], r.Servers[0], r.Clients[0]
	webServer(r.t, server, 8080, "server")
	echoServer(r.t, server, 7, "server")
	r.mustReach(client, 0)
	if who, err := echo(host, netip.AddrPort{}, netip.AddrPortFrom(server.IP, 7)); err != nil || who != "server" {
		r.t.Errorf("a datagram out reached %q: %v", who, err)
	}
	r.bulk("out", host, server.IP, 8080)
	r.bulk("in", client, r.mustLend(client, "www."+hostName(0)), 80)
	if err := ping(host, server.IP); err != nil {
		r.t.Errorf("ping out: %v", err)
	}
	if err := ping(client, r.mustLend(client, hostName(0))); err != nil {
		r.t.Errorf("ping in: %v", err)
	}
}

// bulk fetches a megabyte and sends one.
func (r *realm) bulk(what string, from netns.Node, to netip.Addr, port int) {
	r.t.Helper()
	page, err := curl(from, to, port, "--url-query", "octets=1000000")
	if err != nil || len(page) != 1000000 {
		r.t.Errorf("%s: fetched %d octets: %v", what, len(page), err)
	}
	page, err = curl(from, to, port, "--data-binary", "@"+program)
	if err != nil || !strings.HasPrefix(page, fmt.Sprint(fileSize(r.t, program))) {
		r.t.Errorf("%s: sent %q octets: %v", what, page, err)
	}
}

// interfaceOf describes one of the gateway's interfaces as mode and redirect.
func (d *daemon) interfaceOf(name string) string {
	for _, i := range d.status().Interfaces {
		if i.Name == name {
			return fmt.Sprintf("%s %v", i.Mode, i.Redirect)
		}
	}
	return ""
}

func TestEverythingOnEveryLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options netns.Options
		xdp     bool // is wanted
		eth0    string
	}{
		{"a veth", netns.Options{}, false, "tcx true"},
		{"XDP", netns.Options{}, true, "xdp true"},
		{"the far side takes no redirected frames", netns.Options{Link: []netns.VethOption{netns.GRO(netns.EndB, false)}}, true, ""},
		{"the driver takes no program", netns.Options{Link: []netns.VethOption{netns.NativeXDP(netns.EndA, false)}}, true, "tcx true"},
		{"receive offload at the gateway", netns.Options{Link: []netns.VethOption{netns.GRO(netns.EndA, true)}}, true, ""},
		{"no receive offload anywhere", netns.Options{Link: []netns.VethOption{netns.GRO(netns.BothEnds, false)},
			HostLink: []netns.VethOption{netns.GRO(netns.BothEnds, false)}}, true, "tcx true"},
		{"two queues", netns.Options{Link: []netns.VethOption{netns.Queues(2)}}, true, "xdp true"},
		{"default offloads", defaultOffloads, false, "tcx true"},
		{"default offloads and XDP", defaultOffloads, true, "xdp true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Hosts, c.options.Clients, c.options.Servers = 1, 1, 1
			r := newRealm(t, c.options)
			configuration := r.configuration()
			if c.xdp {
				configuration = atXDP(configuration, "eth0", "eth1")
			}
			d := r.start(configuration)
			t.Logf("eth0 %s, eth1 %s", d.interfaceOf("eth0"), d.interfaceOf("eth1"))
			if got := d.interfaceOf("eth0"); c.eth0 != "" && got != c.eth0 {
				t.Errorf("eth0 is %q, not %q", got, c.eth0)
			}
			r.everything()
		})
	}
}

// defaultOffloads are links as the kernel makes them: what is sent over them has partial
// checksums, and is longer than their MTU.
var defaultOffloads = netns.Options{
	HostLink: []netns.VethOption{netns.TxChecksum(netns.BothEnds, true)}, Link: []netns.VethOption{netns.TxChecksum(netns.BothEnds, true)},
}

// atXDP wants the programs of interfaces in their drivers.
func atXDP(configuration string, names ...string) string {
	return strings.Replace(configuration, "interfaces: {", fmt.Sprintf("interfaces: {xdp: [%s], ", strings.Join(names, ", ")), 1)
}

// A private link that takes no redirected frames beside a public one that does,
// and then the other way round, changed under a running daemon.
func TestEverythingOnMixedLinks(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	r.receiveOffload("switch", "gateway0", false)
	d := r.start(atXDP(r.configuration(), "eth0", "eth1"))
	if got := d.interfaceOf("eth0") + ", " + d.interfaceOf("eth1"); got != "xdp true, tcx false" {
		t.Errorf("eth0 and eth1 are %s", got)
	}
	r.everything()
	if d.counted("forwarded_by_stack") == 0 {
		t.Error("nothing went through the stack")
	}
	r.receiveOffload("switch", "gateway0", true)
	r.receiveOffload("router", "gateway-0", false)
	eventually(t, 5*time.Second, "the daemon follows the change", func() bool {
		return d.interfaceOf("eth0") == "tcx false" && d.interfaceOf("eth1") == "xdp true"
	})
	host, client := r.Hosts()[0], r.Clients[0]
	r.mustReach(client, 0)
	r.bulk("out, after the change", host, r.Servers[0].IP, 8080)
	r.bulk("in, after the change", client, r.mustLend(client, "www."+hostName(0)), 80)
}

// receiveOffload changes an interface in one of the lab's own namespaces.
func (r *realm) receiveOffload(namespace, ifname string, on bool) {
	r.t.Helper()
	value := "off"
	if on {
		value = "on"
	}
	r.command(namespace, "ethtool", "-K", ifname, "gro", value)
}

// command runs a program in a namespace of the lab, by its short name.
func (r *realm) command(namespace string, arguments ...string) {
	r.t.Helper()
	arguments = append([]string{"netns", "exec", r.ID() + "-" + namespace}, arguments...)
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil { //nolint:gosec // a test's own words
		r.t.Fatalf("ip %v: %v: %s", arguments, err, out)
	}
}
