package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// field-attacks.md A8: what names outside say of addresses inside and of names of ours is not believed. dig asks.
func TestAnswersFromOutsideDoNotLeadInside(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Resolver: true})
	answers := map[string][]string{
		"rebind.evil.test.": {"rebind.evil.test. 300 IN A 10.0.1.10"},
		"loop.evil.test.":   {"loop.evil.test. 300 IN A 127.0.0.1"},
		"own.evil.test.":    {"own.evil.test. 300 IN A 198.18.0.1"},
		"pool.evil.test.":   {"pool.evil.test. 300 IN A 198.18.0.33"},
		"six.evil.test.":    {"six.evil.test. 300 IN AAAA ::ffff:10.0.1.10"},
		"public.evil.test.": {"public.evil.test. 300 IN A 192.0.2.80"},
		"cname.evil.test.":  {"cname.evil.test. 300 IN CNAME host1.foo.example.", "host1.foo.example. 300 IN A 6.6.6.6"},
	}
	r.upstreamAt(*r.Resolver, func(question *dns.Msg) *dns.Msg {
		return replyWith(question, answers[strings.ToLower(question.Question[0].Name)]...)
	})
	base := r.configuration()
	d := r.start(base)
	host, gateway := r.Hosts()[0], r.Gateway.PrivateAddress
	want := func(about, name, qtype, wanted string) {
		t.Helper()
		for _, transport := range []string{"+notcp", "+tcp"} {
			out, err := host.Command(context.Background(), "dig", "+short", transport, "+time=4", "@"+gateway.String(), name, qtype).CombinedOutput()
			if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != wanted {
				t.Errorf("%s, dig %s %s %s: %q, not %q (%v)", about, transport, name, qtype, got, wanted, err)
			}
		}
	}
	want("by default", "rebind.evil.test", "A", "")
	want("by default", "loop.evil.test", "A", "")
	want("by default", "own.evil.test", "A", "")
	want("by default", "pool.evil.test", "A", "198.18.0.33")
	want("by default", "six.evil.test", "AAAA", "")
	want("by default", "public.evil.test", "A", "192.0.2.80")
	want("by default", "cname.evil.test", "A", "host1.foo.example. "+host.IP.String())
	counts := d.status().DNS
	if counts.RebindBlocked == 0 || counts.OwnRemoved == 0 || !strings.Contains(d.logged(), "possible DNS rebinding") {
		t.Errorf("counted %+v, logged %s", counts, d.logged())
	}
	out, err := host.Command(context.Background(), "dig", "@"+gateway.String(), "rebind.evil.test").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "status: NOERROR") || !strings.Contains(string(out), "EDE: 15 (Blocked)") {
		t.Errorf("%v: %s", err, out)
	}
	reload := func(dns string) {
		t.Helper()
		d.write(with(base, strings.Replace(`dns: {public: "198.18.0.1:53", private: "10.0.0.1:53", upstream: ["198.51.100.53:53"], DNS}`, "DNS", dns, 1)))
		if out, err := d.tell("reload"); err != nil {
			t.Fatal(out)
		}
	}
	reload("rebind_domain_ok: [rebind.evil.test]")
	want("one name allowed", "rebind.evil.test", "A", "10.0.1.10")
	want("one name allowed", "loop.evil.test", "A", "")
	reload("rebind_protection: false")
	want("without the filter", "loop.evil.test", "A", "127.0.0.1")
	want("without the filter", "cname.evil.test", "A", "host1.foo.example. "+host.IP.String())
}

// field-attacks.md A4: the inside resolver answers its own networks and nobody else, such as who reaches it by an
// interface that the gateway does not have.
func TestInsideResolverAnswersItsOwnNetworks(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	side := r.namespace("side")
	run := func(in *netns.Namespace, arguments ...string) {
		t.Helper()
		if out, err := in.Command(context.Background(), "ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", arguments, err, out)
		}
	}
	run(r.Gateway.Namespace, "link", "add", "side", "type", "veth", "peer", "name", "eth0", "netns", side.Path())
	run(r.Gateway.Namespace, "address", "add", "192.168.77.1/24", "dev", "side")
	run(r.Gateway.Namespace, "link", "set", "side", "up")
	run(side, "address", "add", "192.168.77.2/24", "dev", "eth0")
	run(side, "link", "set", "eth0", "up")
	run(side, "route", "add", "default", "via", "192.168.77.1")
	d := r.start(r.configuration())
	gateway := r.Gateway.PrivateAddress.String()
	// Once, as the gateway counts what it refuses.
	dig := func(from *netns.Namespace, transport string, patience int) string {
		out, _ := from.Command(context.Background(), "dig", transport, "+tries=1", fmt.Sprint("+time=", patience), "@"+gateway, hostName(0)).CombinedOutput()
		return string(out)
	}
	if out := dig(r.Hosts()[0].Namespace, "+notcp", 15); !strings.Contains(out, "status: NOERROR") {
		t.Errorf("a host inside: %s", out)
	}
	if out := dig(r.Gateway.Namespace, "+notcp", 15); !strings.Contains(out, "status: NOERROR") {
		t.Errorf("the gateway itself: %s", out)
	}
	if out := dig(side, "+notcp", 2); strings.Contains(out, "status:") {
		t.Errorf("from elsewhere: %s", out)
	}
	if out := dig(side, "+tcp", 15); !strings.Contains(out, "status: REFUSED") || !strings.Contains(out, "EDE: 18 (Prohibited)") {
		t.Errorf("from elsewhere over TCP: %s", out)
	}
	if n := d.status().DNS.NotInside; n != 2 || !strings.Contains(d.logged(), "address=192.168.77.2") {
		t.Errorf("counted %d, logged %s", n, d.logged())
	}
	// A route by a private interface makes the same addresses ones inside.
	run(r.Gateway.Namespace, "route", "add", "192.168.77.2/32", "dev", r.Gateway.Private[0])
	eventually(t, 15*time.Second, "where the address is is looked up again", func() bool {
		before := d.status().DNS.NotInside
		dig(side, "+notcp", 2)
		return d.status().DNS.NotInside == before
	})
}
