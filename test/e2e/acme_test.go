package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/crypto/acme"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Certificates by http-01 from five places at once, each with a resolver of its own, and by dns-01. The places are
// pebbles that look three times at once; the client is a host behind the gateway.
func TestCertificates(t *testing.T) {
	t.Parallel()
	m := newDomain(t)
	k := &tokens{}
	for _, host := range m.Hosts() {
		k.serve(t, host)
	}
	program := m.build("github.com/letsencrypt/pebble/v2/cmd/pebble")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var clients []*acme.Client
	for _, place := range m.RemoteClients {
		m.resolve(place)
		client := m.pebble(program, place).client(m.Hosts()[0])
		if _, err := client.Register(ctx, &acme.Account{}, acme.AcceptTOS); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	var running sync.WaitGroup
	start := make(chan struct{})
	for i, client := range clients {
		order := &order{client: client, kind: "http-01", names: []string{"web.school.example", "blog.school.example", "www.school.example", "plain.example", "any.plain.example"}}
		if err := m.begin(ctx, order, k); err != nil {
			t.Fatalf("place %d: %v", i+1, err)
		}
		running.Go(func() {
			<-start
			if err := order.finish(ctx); err != nil {
				t.Errorf("http-01 from place %d: %v", i+1, err)
			}
		})
	}
	close(start)
	running.Wait()
	byDNS := &order{client: clients[0], kind: "dns-01", names: []string{"school.example", "*.school.example", "web.school.example", "*.web.school.example", "plain.example", "*.plain.example"}}
	err := m.begin(ctx, byDNS, k)
	if err == nil {
		err = byDNS.finish(ctx)
	}
	if err != nil {
		t.Errorf("dns-01: %v", err)
	}
	if s := m.d.status(); s.DNS.Exhausted != 0 {
		t.Errorf("%d questions without an address", s.DNS.Exhausted)
	}
}

// order is one for a certificate.
type order struct {
	client     *acme.Client
	kind       string // of challenge
	names      []string
	uri, final string
	challenges map[string]*acme.Challenge // by authorization
}

// begin makes an order, and ready what its challenges want to see: all of it, as a name may have several, and resolvers
// keep what they saw.
func (m *domain) begin(ctx context.Context, o *order, k *tokens) error {
	made, err := o.client.AuthorizeOrder(ctx, acme.DomainIDs(o.names...))
	if err != nil {
		return err
	}
	o.uri, o.final, o.challenges = made.URI, made.FinalizeURL, map[string]*acme.Challenge{}
	for _, url := range made.AuthzURLs {
		o.challenges[url] = m.prepare(ctx, o.client, url, o.kind, k)
	}
	return nil
}

// finish has the challenges looked at and fetches the certificate, which names all.
func (o *order) finish(ctx context.Context) error {
	for _, challenge := range o.challenges {
		if _, err := o.client.Accept(ctx, challenge); err != nil {
			return err
		}
	}
	for url := range o.challenges {
		if _, err := o.client.WaitAuthorization(ctx, url); err != nil {
			return err
		}
	}
	if _, err := o.client.WaitOrder(ctx, o.uri); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{}, DNSNames: o.names}, key)
	if err != nil {
		return err
	}
	// pebble's answer does not say where the order is, which this client wants to know: the order tells the rest.
	_, _, _ = o.client.CreateOrderCert(ctx, o.final, request, true)
	made, err := o.client.WaitOrder(ctx, o.uri)
	if err != nil {
		return err
	}
	chain, err := o.client.FetchCert(ctx, made.CertURL, true)
	if err != nil {
		return err
	}
	certificate, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return err
	}
	for _, name := range o.names {
		if !slices.Contains(certificate.DNSNames, name) {
			return fmt.Errorf("a certificate for %v, not for %s", certificate.DNSNames, name)
		}
	}
	return nil
}

// prepare makes ready what a challenge wants to see.
func (m *domain) prepare(ctx context.Context, client *acme.Client, url, kind string, tokens *tokens) *acme.Challenge {
	m.t.Helper()
	authorization, err := client.GetAuthorization(ctx, url)
	if err != nil {
		m.t.Fatal(err)
	}
	at := slices.IndexFunc(authorization.Challenges, func(c *acme.Challenge) bool { return c.Type == kind })
	if at < 0 {
		m.t.Fatalf("no %s for %s: %v", kind, authorization.Identifier.Value, authorization.Challenges)
	}
	challenge := authorization.Challenges[at]
	if kind == "http-01" {
		text, _ := client.HTTP01ChallengeResponse(challenge.Token)
		tokens.texts.Store(client.HTTP01ChallengePath(challenge.Token), text)
		return challenge
	}
	text, _ := client.DNS01ChallengeRecord(challenge.Token)
	m.publish(m.Hosts()[0], authorization.Identifier.Value, text)
	return challenge
}

// publish sets a challenge as acme.sh does, which leaves it to nsupdate to find the zone,
// and waits until every server of the name has it.
func (m *domain) publish(from netns.Node, name, text string) {
	m.t.Helper()
	owner := "_acme-challenge." + name
	if out, err := m.update(from, fmt.Sprintf("update add %s. 60 TXT \"%s\"", owner, text)); err != nil {
		m.t.Fatalf("%s: %v: %s", owner, err, out)
	}
	m.shows(owner, text)
}

// shows waits until all who have a name give a text of it: below a lent name that is the gateway alone.
func (m *domain) shows(owner, text string) {
	m.t.Helper()
	servers := []netip.Addr{m.Gateway.PublicAddress}
	if name := strings.TrimPrefix(owner, "_acme-challenge."); name == "school.example" || name == "a.school.example" {
		servers = append(servers, m.knot.IP, m.nsd.IP)
	}
	for _, server := range servers {
		eventually(m.t, 20*time.Second, owner+" is at "+server.String(), func() bool { return strings.Contains(m.digs(server, owner, "TXT"), text) })
	}
}

// update runs nsupdate with the ACME client's key.
func (m *domain) update(from netns.Node, lines string) (string, error) {
	command := from.Command(m.t.Context(), "nsupdate", "-t", "10", "-y", "hmac-sha256:acme.school.:"+acmeSecret)
	command.Stdin = strings.NewReader("server " + m.Gateway.PublicAddress.String() + "\n" + lines + "\nsend\n")
	out, err := command.CombinedOutput()
	return string(out), err
}

// What an ACME client sets is visible everywhere, survives whatever ends the daemon, and
// is all that it can set. Meanwhile the second servers answer.
func TestChallengesByUpdate(t *testing.T) {
	t.Parallel()
	m := newDomain(t)
	from := m.RemoteClients[0]
	guide := m.guideBlock("delegate.md", 7, "198.18.0.1", m.Gateway.PublicAddress.String(), "SECRET", acmeSecret, "token", "by-hand")
	if out, err := from.Command(t.Context(), "sh", "-c", guide).CombinedOutput(); err != nil {
		t.Fatalf("the guide's: %v: %s", err, out)
	}
	m.shows("_acme-challenge.school.example", "by-hand")
	for _, name := range []string{"web.school.example", "a.school.example", "mail.school.example", "plain.example", "any.plain.example"} {
		m.publish(from, name, "for "+name)
		if got := m.digs(m.Resolver.IP, "_acme-challenge."+name, "TXT"); got != `"for `+name+`"` {
			t.Errorf("_acme-challenge.%s by unbound: %s", name, got)
		}
	}
	for _, lines := range []string{
		"zone school.example.\nupdate add new.school.example. 60 TXT x",
		"zone school.example.\nupdate add _acme-challenge.school.example. 60 A 192.0.2.1",
		"zone school.example.\nupdate delete school.example. MX",
		"zone web.school.example.\nupdate add _acme-challenge.school.example. 60 TXT x",
		"zone web.school.example.\nupdate add web.school.example. 60 TXT x",
	} {
		if out, err := m.update(from, lines); err == nil {
			t.Errorf("%s was done: %s", lines, out)
		}
	}
	before := m.serial(m.Gateway.PublicAddress)
	m.d.kill()
	for _, second := range []netip.Addr{m.knot.IP, m.nsd.IP} {
		if got := m.digs(second, "school.example", "MX"); got != "10 mail.school.example." {
			t.Errorf("%s while the gateway is away: %s", second, got)
		}
	}
	if got := m.digs(m.Resolver.IP, "_dmarc.school.example", "TXT"); got != `"v=DMARC1; p=reject"` {
		t.Errorf("unbound while the gateway is away: %s", got)
	}
	m.d.run()
	if after := m.serial(m.Gateway.PublicAddress); after != before {
		t.Errorf("the serial was %d and is %d after a kill", before, after)
	}
	m.shows("_acme-challenge.school.example", "by-hand")
	m.shows("_acme-challenge.web.school.example", "for web.school.example")
	m.publish(from, "school.example", "afterwards")
	for _, second := range []netns.Node{m.knot, m.nsd} {
		m.holds(second, "what was set after the kill", m.serial(m.Gateway.PublicAddress))
	}
	if answer, err := ask(from, "tcp", m.Gateway.PublicAddress, "_acme-challenge.school.example.", dns.TypeTXT); err != nil || len(answer.Answer) != 2 {
		t.Errorf("both challenges: %v, %v", answer, err)
	}
}

// tokens are what web servers show to who checks http-01.
type tokens struct{ texts sync.Map }

func (k *tokens) serve(t *testing.T, at netns.Node) {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:8080", at.IP))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		text, _ := k.texts.Load(request.URL.Path)
		fmt.Fprint(w, text)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}
