package e2e

import (
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// first returns the first record of an answer as text.
func first(answer *dns.Msg) string {
	if answer == nil || len(answer.Answer) == 0 {
		return ""
	}
	switch record := answer.Answer[0].(type) {
	case *dns.A:
		return record.A.String()
	case *dns.PTR:
		return record.Ptr
	}
	return answer.Answer[0].String()
}

// Inside, own names mean private addresses, and every other name is upstream's.
func TestNamesInside(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Resolver: true})
	unbound := r.resolver()
	d := r.start(r.configuration())
	host, gateway := r.Hosts()[1], r.Gateway.PrivateAddress
	want := func(name string, kind uint16, wanted string) {
		t.Helper()
		for _, network := range []string{"udp", "tcp"} {
			answer, err := ask(host, network, gateway, name, kind)
			if err != nil || first(answer) != wanted {
				t.Errorf("%s over %s: %q, not %q (%v)", name, network, first(answer), wanted, err)
			}
		}
	}
	want(hostName(0), dns.TypeA, "10.0.0.100")
	want("www."+hostName(0), dns.TypeA, "10.0.0.100")
	want("100.0.0.10.in-addr.arpa.", dns.TypePTR, hostName(0))
	want("outside.test.example.", dns.TypeA, "198.51.100.10")
	if a, err := dig(host, gateway, "outside.test.example"); err != nil || a[0] != netip.MustParseAddr("198.51.100.10") {
		t.Errorf("dig: %v, %v", a, err)
	}
	if got := d.status().DNS.Forwarded; got != 1 {
		t.Errorf("%d questions went upstream for one name asked three times: it is not cached", got)
	}
	// Outside nobody is served as if inside.
	if answer, err := ask(*r.Resolver, "udp", r.Gateway.PublicAddress, "outside.test.example.", dns.TypeA); err != nil || answer.Rcode != dns.RcodeRefused {
		t.Errorf("a foreign name asked from outside: %v, %v", answer, err)
	}

	_ = unbound.Process.Kill()
	_ = unbound.Wait()
	want("outside.test.example.", dns.TypeA, "198.51.100.10") // from the cache
	began := time.Now()
	answer, err := ask(host, "udp", gateway, "another.test.example.", dns.TypeA)
	if took := time.Since(began); err != nil || answer.Rcode != dns.RcodeServerFailure || took > 7*time.Second {
		t.Errorf("upstream is dead: %v after %s, %v", answer, took, err)
	}
	status := d.status()
	if status.DNS.UpstreamFailed != 1 || d.warning("upstream") == "" {
		t.Errorf("upstream_failed %d, warnings %q", status.DNS.UpstreamFailed, status.Warnings)
	}
	want(hostName(0), dns.TypeA, "10.0.0.100")
}

// An empty pool: over UDP the asker is told to come by TCP, over TCP it waits,
// and gets the address that becomes free meanwhile or a SERVFAIL.
func TestPoolEmpty(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	base := with(r.configuration(), `dns: {public: "198.18.0.1:53", private: "10.0.0.1:53", verify: none}`)
	d := r.start(with(base, "pool: {addresses: [198.18.0.32], reservation_timeout: 5s, rest: 1s, wait: 300ms}"))
	client, gateway := r.Clients[0], r.Gateway.PublicAddress
	open := r.mustLend(client, "www."+hostName(0))
	answer, err := ask(client, "udp", gateway, "www."+hostName(1), dns.TypeA)
	if err != nil || !answer.Truncated || len(answer.Answer) > 0 {
		t.Errorf("over UDP: %v, %v", answer, err)
	}
	began := time.Now()
	answer, err = ask(client, "tcp", gateway, "www."+hostName(1), dns.TypeA)
	if err != nil || answer.Rcode != dns.RcodeServerFailure || time.Since(began) < 250*time.Millisecond {
		t.Errorf("over TCP after %s: %v, %v", time.Since(began), answer, err)
	}
	status := d.status()
	if status.DNS.Exhausted != 1 || status.Addresses.Used != 1 || d.warning("pool.addresses") == "" {
		t.Errorf("exhausted %d, addresses %v, warnings %q", status.DNS.Exhausted, status.Addresses, status.Warnings)
	}
	// A reload lengthens the wait; then the claim of the reservation ends it.
	d.write(with(base, "pool: {addresses: [198.18.0.32], reservation_timeout: 5s, rest: 1s, wait: 5s}"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	waited := make(chan error)
	go func() {
		_, err := lent(client, r.Gateway, "www."+hostName(1))
		waited <- err
	}()
	eventually(t, 4*time.Second, "the question waits", func() bool { return d.status().DNS.Queries >= 4 })
	if page, err := visit(client, open, 80); err != nil || page != hostName(0) {
		t.Errorf("reached %q: %v", page, err)
	}
	if err := <-waited; err != nil {
		t.Errorf("who waited for the address: %v", err)
	}
}
