package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A domain with mail, policies, virtual hosts and two second servers, and one with a
// lent apex and wildcard and none, as clients behind a resolver see them.
func TestDelegatedDomain(t *testing.T) {
	t.Parallel()
	m := newDomain(t)
	for i, host := range m.Hosts() {
		virtualHosts(t, host, hostName(i))
	}
	letters := mailServer(t, m.Hosts()[0])
	t.Run("records", m.records)
	t.Run("referrals", m.referrals)
	t.Run("transfer", m.transfers)
	t.Run("notify", m.notifies)
	t.Run("mail", func(t *testing.T) { m.mails(t, letters) })
	t.Run("visits", m.visits)
}

// What is fixed is the same through unbound, at this server and at both others.
func (m *domain) records(t *testing.T) {
	for _, c := range []struct{ name, kind, want string }{
		{"school.example", "MX", "10 mail.school.example."},
		{"school.example", "TXT", `"v=spf1 mx -all"`},
		{"school.example", "CAA", `0 issue "letsencrypt.org"`},
		{"_dmarc.school.example", "TXT", `"v=DMARC1; p=reject"`},
		{"2026._domainkey.school.example", "TXT", `"v=DKIM1; k=ed25519; p=..."`},
		{"www.school.example", "CNAME", "web.school.example."},
		{"ns1.school.example", "A", m.Gateway.PublicAddress.String()},
		{"ns2.school.example", "A", m.knot.IP.String()},
		{"nobody.school.example", "A", ""},
	} {
		for _, server := range []netip.Addr{m.Resolver.IP, m.Gateway.PublicAddress, m.knot.IP, m.nsd.IP} {
			if got := m.digs(server, c.name, c.kind); got != c.want {
				t.Errorf("%s %s at %s: %q, not %q", c.name, c.kind, server, got, c.want)
			}
		}
	}
	// What the file has at and below a lent name is here alone, and found by the referral.
	for name, want := range map[string]string{"mail.school.example TXT": `"v=spf1 a -all"`, "_25._tcp.mail.school.example TLSA": "3 1 1 00112233445566778899AABBCCDDEEFF00112233445566778899AABB CCDDEEFF"} {
		for _, server := range []netip.Addr{m.Resolver.IP, m.Gateway.PublicAddress} {
			if got := m.digs(server, strings.Fields(name)...); got != want {
				t.Errorf("%s at %s: %q, not %q", name, server, got, want)
			}
		}
	}
	for name, want := range map[string]int{"web.school.example.": 0, "plain.example.": 0, "any.plain.example.": 0, "below.web.school.example.": dns.RcodeNameError} {
		for _, kind := range []uint16{dns.TypeAAAA, dns.TypeHTTPS} {
			if answer, err := ask(m.RemoteClients[0], "udp", m.Resolver.IP, name, kind); err != nil || answer.Rcode != want || len(answer.Answer) > 0 {
				t.Errorf("%s %s by unbound: %v, %v", name, dns.Type(kind), answer, err)
			}
		}
	}
	for name, want := range map[string]string{"MX": "10 mail.school.example.", "TXT": `"v=spf1 mx -all"`, "NS": "ns1.school.example."} {
		if got := m.digs(m.Resolver.IP, "plain.example", name); got != want {
			t.Errorf("plain.example %s: %q, not %q", name, got, want)
		}
	}
	for _, name := range []string{"web.school.example", "www.school.example", "mail.school.example", "plain.example", "any.plain.example"} {
		got := strings.Fields(m.digs(m.Resolver.IP, name, "A"))
		if len(got) == 0 || !m.Gateway.Pool.Contains(netip.MustParseAddr(got[len(got)-1])) {
			t.Errorf("%s: %v, not in the pool %s", name, got, m.Gateway.Pool)
		}
	}
}

// For a lent name the second servers know nothing but who does.
func (m *domain) referrals(t *testing.T) {
	for _, name := range []string{"web", "blog", "mail", "below.web", "www"} {
		for _, server := range []netip.Addr{m.knot.IP, m.nsd.IP} {
			answer, err := ask(m.RemoteClients[0], "udp", server, name+".school.example.", dns.TypeA)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range answer.Answer { // www leads to web, that is all
				if record.Header().Rrtype != dns.TypeCNAME {
					t.Errorf("%s at %s: %v", name, server, record)
				}
			}
			if len(answer.Ns) != 1 || answer.Ns[0].Header().Rrtype != dns.TypeNS || answer.Ns[0].(*dns.NS).Ns != "ns1.school.example." || !strings.Contains(fmt.Sprint(answer.Extra), m.Gateway.PublicAddress.String()) {
				t.Errorf("%s at %s is not referred to the gateway: %v", name, server, answer)
			}
		}
	}
}

// Nobody copies a zone without its key.
func (m *domain) transfers(t *testing.T) {
	for what, flags := range map[string][]string{
		"no key":        nil,
		"another's key": {"-y", "hmac-sha256:acme.school.:" + acmeSecret},
		"a wrong key":   {"-y", "hmac-sha256:copy.school.:" + acmeSecret},
	} {
		for _, zone := range []string{"school.example", "plain.example"} {
			out, _ := m.knot.Command(t.Context(), "dig", append(flags, "@"+m.Gateway.PublicAddress.String(), zone, "AXFR")...).CombinedOutput()
			if !strings.Contains(string(out), "Transfer failed") || strings.Contains(string(out), "spf1") {
				t.Errorf("%s with %s: %s", zone, what, out)
			}
		}
	}
	if got := m.digs(m.Gateway.PublicAddress, "-y", "hmac-sha256:copy.school.:"+domainSecret, "school.example", "AXFR"); !strings.Contains(got, "v=DMARC1") {
		t.Errorf("with the key: %s", got)
	}
}

// What has changed, in the file or by a name that is lent from now on, is at the second
// servers after a reload or a new start; a reload of what is as it was tells nobody.
func (m *domain) notifies(t *testing.T) {
	reload := func() {
		t.Helper()
		if out, err := m.d.tell("reload"); err != nil {
			t.Fatal(out)
		}
	}
	before := m.serial(m.Gateway.PublicAddress)
	if reload(); m.serial(m.Gateway.PublicAddress) != before {
		t.Errorf("a reload without a change raised the serial %d", before)
	}
	for what, change := range map[string]func(){
		"the file": func() {
			m.change("-all", "~all")
			reload()
		},
		"a new name": func() {
			m.d.write(strings.Replace(m.configuration, "[web.school.example.,", "[new.school.example., web.school.example.,", 1))
			reload()
		},
		"the file while nobody serves it": func() {
			m.d.stop()
			m.change("p=reject", "p=none")
			m.d.run()
		},
	} {
		before := m.serial(m.Gateway.PublicAddress)
		change()
		after := m.serial(m.Gateway.PublicAddress)
		if after <= before {
			t.Errorf("%s: the serial went from %d to %d", what, before, after)
		}
		m.holds(m.knot, what, after)
		m.holds(m.nsd, what, after)
	}
	for _, second := range []netip.Addr{m.knot.IP, m.nsd.IP} {
		for name, want := range map[string]string{"school.example": `"v=spf1 mx ~all"`, "_dmarc.school.example": `"v=DMARC1; p=none"`} {
			if got := m.digs(second, name, "TXT"); got != want {
				t.Errorf("%s at %s is %s", name, second, got)
			}
		}
	}
	if a, err := dig(m.RemoteClients[0], m.Resolver.IP, "new.school.example"); err != nil || !m.Gateway.Pool.Contains(a[0]) {
		t.Errorf("the new name is at %v: %v", a, err)
	}
}

// A letter goes to whom the MX names, by the name's address.
func (m *domain) mails(t *testing.T, letters <-chan string) {
	for _, domain := range []string{"school.example", "plain.example"} {
		_, exchange, _ := strings.Cut(m.digs(m.Resolver.IP, domain, "MX"), " ")
		out, err := m.named(t.Context(), m.RemoteClients[1], "swaks", "--server", strings.TrimSuffix(exchange, "."), "--timeout", "10", "--helo", "client.example",
			"--from", "one@client.example", "--to", "two@"+domain, "--body", "for "+domain).CombinedOutput()
		if err != nil {
			t.Fatalf("swaks to %s: %v: %s", exchange, err, out)
		}
		select {
		case letter := <-letters:
			if !strings.Contains(letter, "for "+domain) {
				t.Errorf("the letter: %q", letter)
			}
		case <-time.After(10 * time.Second):
			t.Error("no letter came")
		}
	}
}

// 200 of 200 visits, by four clients at a time, meet the name that they are for.
func (m *domain) visits(t *testing.T) {
	const visits = 200
	names := []string{"web.school.example", "blog.school.example", "www.school.example", "plain.example", "any%d.plain.example"}
	var running sync.WaitGroup
	var met atomic.Int64
	for i, from := range m.RemoteClients {
		running.Go(func() {
			for n := i; n < visits; n += len(m.RemoteClients) {
				name, host := names[n%len(names)], 0
				if strings.HasSuffix(name, "plain.example") {
					host = 1
				}
				if strings.Contains(name, "%") {
					name = fmt.Sprintf(name, n)
				}
				if page, err := m.browse(from, name); err != nil || page != name+" at "+hostName(host) {
					t.Errorf("%s: %q, %v", name, page, err)
				} else {
					met.Add(1)
				}
			}
		})
	}
	running.Wait()
	if met.Load() != visits {
		t.Errorf("%d of %d visits", met.Load(), visits)
	}
	if s := m.d.status(); s.DNS.Exhausted != 0 || s.Moved != 0 {
		t.Errorf("%d questions without an address, %d moved", s.DNS.Exhausted, s.Moved)
	}
}
