package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// dnatTo is a chain that sends flows on.
func dnatTo(name, match, to string) string {
	return fmt.Sprintf("  - {name: %s, match: {direction: in, %s}, functions: [{use: dnat, to: %s}]}\n", name, match, to)
}

// Strangers reach a web server by a port of the outbound address, and a host whole by an
// address of its own; by who asks, one port leads to two hosts; hosts inside come in as
// everybody does. It all goes on without a daemon, and under the next one.
func TestDnat(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2})
	r.webServers()
	r.echoServers()
	whole := r.Gateway.Pool.Addr().Prev() // nobody's
	hosts, out := r.Hosts(), r.Gateway.Outbound
	chains := "chains:\n" + dnatTo("whole", "to: "+whole.String(), hosts[1].IP.String())
	for i, c := range r.Clients {
		chains += dnatTo(fmt.Sprint("dns-", i), fmt.Sprintf("to: %s, from: %s, protocol: udp, port: 53", out, c.IP), fmt.Sprintf("%s, port: 7", hosts[i].IP))
	}
	web := func(host int) string {
		return dnatTo("web", fmt.Sprintf("to: %s, protocol: tcp, port: 8000", out), fmt.Sprintf("%s, port: 8080", hosts[host].IP))
	}
	d := r.start(r.configuration() + chains + web(0))
	reaches := func(from netns.Node, address netip.Addr, port, host int) {
		t.Helper()
		if page, err := curl(from, address, port); err != nil || page != hostName(host)+"\n" {
			t.Errorf("port %d of %s is %q: %v", port, address, page, err)
		}
	}
	reaches(r.Clients[0], out, 8000, 0)
	reaches(hosts[1], out, 8000, 0)
	reaches(hosts[0], out, 8000, 0)
	reaches(r.Clients[0], whole, 8080, 1)
	reaches(hosts[0], whole, 8080, 1)
	if err := ping(r.Clients[0], whole); err != nil {
		t.Error(err)
	}
	dns := netip.AddrPortFrom(out, 53)
	for i, c := range r.Clients {
		if who, err := echo(c, netip.AddrPort{}, dns); err != nil || who != hostName(i) {
			t.Errorf("client %d reached %q: %v", i, who, err)
		}
	}
	talk, err := r.Clients[0].DialContext(t.Context(), "udp4", dns.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talk.Close() })
	goesOn := func(when string) {
		t.Helper()
		if who, err := echoOn(talk); err != nil || who != hostName(0) {
			t.Errorf("%s a conversation reached %q: %v", when, who, err)
		}
	}
	goesOn("at first")
	for _, s := range d.sessions("--address", r.Clients[0].IP.String()) {
		if s.Origin != "dnat" {
			t.Errorf("a session that dnat opened: %+v", s)
		}
	}
	if f := d.functions("web"); len(f) != 1 || f[0].Use != "dnat" || f[0].Seen == 0 {
		t.Errorf("what dnat did: %+v", f)
	}
	d.kill()
	goesOn("without a daemon")
	reaches(r.Clients[1], out, 8000, 0)
	d.write(r.configuration() + chains + web(1))
	d.run()
	goesOn("under the next daemon")
	reaches(r.Clients[1], out, 8000, 1)
	d.write(r.configuration() + "chains:\n" + web(1))
	if said, err := d.tell("reload"); err != nil {
		t.Fatal(said)
	}
	if !d.refuses(talk, "drop_service_closed") {
		t.Error("what no dnat sends on any more goes on")
	}
	if d.counted("drop_service_closed") == 0 {
		t.Error("no drop_service_closed was counted")
	}
	reaches(r.Clients[0], out, 8000, 1)
	if page, err := curl(r.Clients[0], whole, 8080, "--connect-timeout", "1"); err == nil {
		t.Errorf("an address that is no more is %q", page)
	}
}

// Without outbound.addresses the gateway's one public address is what dnat has ports of;
// the name server, and all else, stays.
func TestDnatOfTheOnlyAddress(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.webServers()
	r.echoServers()
	only := r.Gateway.PublicAddress
	configuration := with(r.configuration(), "outbound:")
	web := dnatTo("web", fmt.Sprintf("to: %s, protocol: tcp, port: 80", only), fmt.Sprintf("%s, port: 8080", r.Hosts()[0].IP))
	d := r.start(configuration + "chains:\n" + web)
	for _, from := range []netns.Node{r.Clients[0], r.Hosts()[0]} {
		if page, err := curl(from, only, 80); err != nil || page != hostName(0)+"\n" {
			t.Errorf("port 80 of the gateway is %q: %v", page, err)
		}
	}
	r.mustReach(r.Clients[0], 0)
	for match, said := range map[string]string{
		fmt.Sprintf("to: %s", only):                                "name protocol (tcp or udp) and port",
		fmt.Sprintf("to: %s, protocol: tcp, port: 1-5000", only):   "is where the name server listens",
		fmt.Sprintf("to: %s, protocol: udp, port: 100-9000", only): "8901 ports of outbound addresses for dnat, at most 4096",
	} {
		d.write(configuration + "chains:\n" + dnatTo("web", match, r.Hosts()[0].IP.String()))
		if out, err := d.tell("reload"); err == nil || !strings.Contains(out, said) {
			t.Errorf("%s: %v: %s", match, err, out)
		}
	}
	d.write(configuration + "chains:\n" + dnatTo("web", "to: 198.18.0.30", only.String()))
	if out, err := d.tell("reload"); err == nil || !strings.Contains(out, "name a private host") {
		t.Errorf("dnat to the gateway: %v: %s", err, out)
	}
	if page, err := curl(r.Clients[0], only, 80); err != nil || page != hostName(0)+"\n" {
		t.Errorf("after reloads that were refused port 80 is %q: %v", page, err)
	}
}
