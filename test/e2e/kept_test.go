package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// publishing is the usual configuration with other hosts: a YAML list.
func (r *realm) publishing(hosts ...string) string {
	before, _, _ := strings.Cut(r.configuration(), "hosts:\n")
	return before + "hosts:\n" + strings.Join(hosts, "")
}

// places is which address each service has, by its first name.
func (d *daemon) places() map[string]netip.Addr {
	d.t.Helper()
	places := map[string]netip.Addr{}
	for _, b := range list[[]client.Binding](d, "pool") {
		if b.State == "bound" {
			places[b.Service] = b.Address
		}
	}
	return places
}

// With as many addresses as services each has its own from the start and keeps
// it, whoever asks and how often: all visitors share it.
func TestServiceKeepsItsAddress(t *testing.T) {
	t.Parallel()
	const hosts, rounds = 3, 8
	r := newRealm(t, netns.Options{Hosts: hosts, Clients: 1, RemoteClients: 2, Resolver: true})
	r.webServers()
	r.resolver()
	d := r.start(r.configuration())
	first := map[string]netip.Addr{}
	for i := range hosts {
		first["www."+hostName(i)] = d.at("www." + hostName(i))
	}
	visit := func(when string) {
		t.Helper()
		for name, address := range first {
			for _, from := range append(r.RemoteClients, r.Clients...) {
				got, err := dig(from, r.Resolver.IP, name)
				if from.IP == r.Clients[0].IP {
					got[0], err = lent(from, r.Gateway, name)
				}
				if err != nil || got[0] != address {
					t.Fatalf("%s: %s got %v for %s, which has %s: %v", when, from.IP, got, name, address, err)
				}
				if page, err := curl(from, address, 80); err != nil || "www."+strings.TrimSpace(page) != name {
					t.Errorf("%s: %s at %s: %q, %v", when, name, address, page, err)
				}
			}
		}
	}
	for round := range rounds {
		visit(fmt.Sprint("round ", round))
	}
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	visit("after a reload")
	d.kill()
	d.run()
	visit("after a kill")
	d.stop()
	d.run()
	visit("after a stop and a start")
	if s := d.status(); s.Moved != 0 || s.DNS.Exhausted != 0 {
		t.Errorf("%d moved, %d questions without an address", s.Moved, s.DNS.Exhausted)
	}
}

// at is the address that a name's service has.
func (d *daemon) at(name string) netip.Addr {
	d.t.Helper()
	for _, h := range list[[]client.Host](d, "hosts") {
		for _, s := range h.Services {
			if slices.Contains(s.Names, name) {
				if address, ok := d.places()[s.Names[0]]; ok {
					return address
				}
			}
		}
	}
	d.t.Fatalf("%s has no address: %v", name, d.places())
	return netip.Addr{}
}

// A host's services gather at one address where their ports allow, one name
// opens all of its ports, and what two names disagree on has two addresses.
func TestServicesGather(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, Clients: 2})
	hosts := r.Hosts()
	d := r.start(r.publishing(hostEntry(0, hosts[0].IP), fmt.Sprintf(`  - name: %s
    address: %s
    services:
      - names: [shop.foo.example., "*.shop.foo.example."]
        ports: [tcp/80:8080, tcp/443:8443, udp/443:8443]
`, hostName(1), hosts[1].IP), fmt.Sprintf(`  - name: %s
    address: %s
    services:
      - {name: one.foo.example., protocol: tcp, port: 80, to: 8081}
      - {name: two.foo.example., protocol: tcp, port: 80, to: 8082}
      - {name: mail.foo.example., protocol: tcp, port: 25}
`, hostName(2), hosts[2].IP)))
	seen := map[netip.Addr]string{}
	for _, name := range []string{"www." + hostName(0), "echo." + hostName(0), "perf." + hostName(0), hostName(0)} {
		address := r.mustLend(r.Clients[0], name)
		seen[address] += " " + name
	}
	if len(seen) != 1 {
		t.Errorf("the services of one host are at %v", seen)
	}
	one, two := r.mustLend(r.Clients[0], "one.foo.example."), r.mustLend(r.Clients[0], "two.foo.example.")
	if mail := r.mustLend(r.Clients[0], "mail.foo.example."); one == two || mail != one && mail != two {
		t.Errorf("port 80 of two names of a host is at %s and %s, its mail at %s", one, two, mail)
	}
	webServer(t, hosts[2], 8081, "one")
	webServer(t, hosts[2], 8082, "two")
	for page, address := range map[string]netip.Addr{"one": one, "two": two} {
		if got, err := curl(r.Clients[0], address, 80); err != nil || strings.TrimSpace(got) != page {
			t.Errorf("%s at %s: %q, %v", page, address, got, err)
		}
	}

	webServer(t, hosts[1], 8080, "plain")
	webServer(t, hosts[1], 8443, "tls")
	echoServer(t, hosts[1], 8443, "quic")
	for i, name := range []string{"shop.foo.example.", "cart.shop.foo.example."} {
		from := r.Clients[i]
		address := r.mustLend(from, name)
		for port, page := range map[int]string{80: "plain", 443: "tls"} {
			if got, err := curl(from, address, port); err != nil || strings.TrimSpace(got) != page {
				t.Errorf("%s port %d: %q, %v", name, port, got, err)
			}
		}
		if who, err := echo(from, netip.AddrPort{}, netip.AddrPortFrom(address, 443)); err != nil || who != "quic" {
			t.Errorf("%s UDP: %q, %v", name, who, err)
		}
	}
	// One answer is one claim, for all ports: of one, two, and each client of the shop.
	eventually(t, 5*time.Second, "four answers are claimed", func() bool { return d.status().Claimed >= 4 })
	if claimed := d.status().Claimed; claimed != 4 {
		t.Errorf("%d answers were claimed", claimed)
	}
}

// A host's own name is closed unless it is opened, and the listing says exactly
// what is open.
func TestClosedUnlessOpened(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, Clients: 3})
	hosts := r.Hosts()
	d := r.start(r.publishing(
		fmt.Sprintf("  - name: %s\n    address: %s\n    services:\n      - {name: www.%[1]s, protocol: tcp, port: 80, to: 8080}\n", hostName(0), hosts[0].IP),
		fmt.Sprintf("  - name: %s\n    address: %s\n    open: [tcp/22, icmp]\n", hostName(1), hosts[1].IP),
		fmt.Sprintf("  - name: %s\n    address: %s\n    open: all\n", hostName(2), hosts[2].IP)))
	for i, h := range hosts {
		for _, port := range []int{22, 8080} {
			webServer(t, h, port, hostName(i))
		}
	}
	for _, network := range []string{"udp", "tcp"} {
		answer, err := ask(r.Clients[0], network, r.Gateway.PublicAddress, hostName(0), dns.TypeA)
		// Over UDP the zone's record would make the answer longer than the question.
		if err != nil || answer.Rcode != dns.RcodeSuccess || len(answer.Answer) > 0 || answer.Truncated != (network == "udp") || answer.Truncated == (len(answer.Ns) > 0) {
			t.Errorf("the name of a closed host over %s: %v, %v", network, answer, err)
		}
	}
	if inside, err := ask(hosts[1], "udp", r.Gateway.PrivateAddress, hostName(0), dns.TypeA); err != nil || first(inside) != hosts[0].IP.String() {
		t.Errorf("inside the name of a closed host: %v, %v", inside, err)
	}
	closed := r.mustLend(r.Clients[0], "www."+hostName(0))
	some, all := r.mustLend(r.Clients[1], hostName(1)), r.mustLend(r.Clients[2], hostName(2))
	for _, c := range []struct {
		from netns.Node
		to   netip.Addr
		port int
		page string // "": refused
	}{
		{r.Clients[0], closed, 80, hostName(0)}, {r.Clients[0], closed, 22, ""}, {r.Clients[0], closed, 8080, ""},
		{r.Clients[1], some, 22, hostName(1)}, {r.Clients[1], some, 8080, ""},
		{r.Clients[2], all, 22, hostName(2)}, {r.Clients[2], all, 8080, hostName(2)},
	} {
		page, err := curl(c.from, c.to, c.port)
		if strings.TrimSpace(page) != c.page || (err == nil) != (c.page != "") {
			t.Errorf("%s port %d: %q, %v; want %q", c.to, c.port, page, err, c.page)
		}
	}
	for to, answers := range map[netip.Addr]bool{closed: false, some: true, all: true} {
		for i, c := range r.Clients {
			if a := []netip.Addr{closed, some, all}[i]; a == to && (ping(c, to) == nil) != answers {
				t.Errorf("ping %s: answers %v", to, !answers)
			}
		}
	}
	out, err := d.tell("hosts")
	for i, want := range []string{"tcp/80→8080", "icmp, tcp/22", "all"} {
		if line := lineWith(out, hosts[i].IP.String(), want); line == "" {
			t.Errorf("hosts does not say that %s opens %s: %v\n%s", hostName(i), want, err, out)
		}
	}
	if lineWith(out, hosts[0].IP.String(), "closed") == "" {
		t.Errorf("hosts does not say that %s is closed:\n%s", hostName(0), out)
	}
}

// lineWith is the first line that has all of the words.
func lineWith(text string, words ...string) string {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return line
		}
	}
	return ""
}
