package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// What the second servers and the ACME client of a domain sign with.
const (
	domainSecret = "c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgb2N0ZXRzLi4="
	acmeSecret   = "YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3RzLCAzMi4="
)

// domain is the guide's domain in the lab: school.example with knot and nsd as its
// second servers, and plain.example, whose apex and wildcard are lent, with none. Both
// are delegated by a root of our own, which unbound begins at.
type domain struct {
	*realm
	d             *daemon
	knot, nsd     netns.Node
	file          string // of school.example
	configuration string
}

func newDomain(t *testing.T) *domain {
	t.Helper()
	r := newRealm(t, netns.Options{Hosts: 2, RemoteClients: 5, Servers: 3, Resolver: true})
	m := &domain{realm: r, knot: r.Servers[0], nsd: r.Servers[1], file: filepath.Join(r.directory, "school.zone")}
	gateway, knot, nsd := r.Gateway.PublicAddress.String(), m.knot.IP.String(), m.nsd.IP.String()
	m.put("school.zone", r.guideBlock("delegate.md", 0, "203.0.113.53", knot)+
		"@ NS ns3\nns3 A "+nsd+"\nmail TXT \"v=spf1 a -all\"\n_25._tcp.mail TLSA 3 1 1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n")
	m.put("plain.zone", "$TTL 1h\n@ MX 10 mail.school.example.\n@ TXT \"v=spf1 mx -all\"\n")
	m.put("copy.key", domainSecret)
	m.put("acme.key", acmeSecret)
	hosts := r.guideFrom("hosts", "delegate.md", "10.0.0.100", r.Hosts()[0].IP.String(), "[web.school.example.]", "[web.school.example., blog.school.example.]",
		"[tcp/25, tcp/587]", "[tcp/25:2525, tcp/587:2525]")
	usual, _, _ := strings.Cut(r.configuration(), "hosts:\n")
	m.configuration = with(usual+hosts, fmt.Sprintf(`realm: {nameserver: ns1.school.example., zones: [{name: school.example., file: school.zone, acme: [acme.school.], secondaries: [{address: %s, key: copy.school.}, {address: %s, key: copy.school.}]}, {name: plain.example., file: plain.zone, acme: [acme.school.]}]}`, knot, nsd),
		fmt.Sprintf(`dns: {public: "%s:53", private: "%s:53", keys: [{name: copy.school., algorithm: hmac-sha256, secret_file: copy.key}, {name: acme.school., algorithm: hmac-sha256, secret_file: acme.key}]}`, gateway, r.Gateway.PrivateAddress)) +
		fmt.Sprintf("  - name: b.plain.example.\n    address: %s\n    services:\n      - {names: [plain.example., \"*.plain.example.\"], ports: [tcp/80:8080]}\n", r.Hosts()[1].IP)
	m.d = r.start(m.configuration)
	m.second(m.knot, "knotd", fmt.Sprintf("server:\n    listen: %s@53\n    rundir: %s\ndatabase:\n    storage: %s\ntemplate:\n  - id: default\n    storage: %[2]s\n", knot, r.directory, r.directory)+
		r.guideBlock("delegate.md", 4, "198.18.0.1", gateway, `"..."`, domainSecret))
	m.second(m.nsd, "nsd", fmt.Sprintf("server:\n  ip-address: %s\n  username: \"\"\n  chroot: \"\"\n  zonesdir: %[2]s\n  xfrdir: %[2]s\n  database: \"\"\n  pidfile: \"\"\n  xfrdfile: %[2]s/xfrd\n  zonelistfile: %[2]s/list\n  cookie-secret-file: %[2]s/cookie\nremote-control:\n  control-enable: no\n", nsd, r.directory)+
		r.guideBlock("delegate.md", 5, "198.18.0.1", gateway, `"..."`, domainSecret))
	root := r.Servers[2]
	parent(t, root, r.guideBlock("delegate.md", 2, "198.18.0.1", gateway, "203.0.113.53", knot)+
		"school.example. NS ns3.school.example.\nns3.school.example. A "+nsd+"\nplain.example. NS ns1.school.example.\n")
	m.put("root.hints", ". 3600 NS root.\nroot. 3600 A "+root.IP.String()+"\n")
	m.resolve(*r.Resolver)
	for _, s := range []netns.Node{m.knot, m.nsd} {
		m.holds(s, "what was there when it began", m.serial(r.Gateway.PublicAddress))
	}
	return m
}

// resolve runs unbound at a node: it begins at the root.
func (m *domain) resolve(at netns.Node) {
	m.t.Helper()
	m.resolverAt(at, "  root-hints: "+filepath.Join(m.directory, "root.hints")+"\n", "")
}

// put writes a file beside the configuration.
func (r *realm) put(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.directory, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// change puts other text into the zone's file.
func (m *domain) change(from, to string) {
	m.t.Helper()
	text, err := os.ReadFile(m.file)
	if err != nil {
		m.t.Fatal(err)
	}
	m.put("school.zone", m.replaced("delegate.md", string(text), []string{from, to}))
}

// second runs knot or nsd.
func (m *domain) second(at netns.Node, program, configuration string) {
	m.t.Helper()
	m.put(program+".conf", configuration)
	var options []string
	if program == "nsd" {
		options = []string{"-d"} // it stays in the foreground, as knotd does
	}
	log, err := os.Create(filepath.Join(m.directory, program+".log"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close() // the process has its own copy
	server := at.Command(context.Background(), program, append(options, "-c", filepath.Join(m.directory, program+".conf"))...)
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if text, _ := os.ReadFile(log.Name()); m.t.Failed() {
			m.t.Logf("%s says:\n%s", program, text)
		}
	})
}

// serial is the one that a server has of school.example; 0 if it has none.
func (m *domain) serial(server netip.Addr) uint32 {
	if answer, err := ask(m.RemoteClients[0], "udp", server, "school.example.", dns.TypeSOA); err == nil && answer.Authoritative && len(answer.Answer) > 0 {
		return answer.Answer[0].(*dns.SOA).Serial
	}
	return 0
}

// holds waits until a second server has come to a serial, well before it would ask by itself.
func (m *domain) holds(second netns.Node, what string, serial uint32) {
	m.t.Helper()
	eventually(m.t, 20*time.Second, fmt.Sprintf("%s has %s, %d", second.IP, what, serial), func() bool { return serial != 0 && m.serial(second.IP) == serial })
}

// digs is what dig +short prints at a server, in one line.
func (m *domain) digs(server netip.Addr, arguments ...string) string {
	m.t.Helper()
	out, err := m.RemoteClients[0].Command(m.t.Context(), "dig", append([]string{"+short", "+time=4", "+tries=2", "@" + server.String()}, arguments...)...).CombinedOutput()
	if err != nil {
		m.t.Errorf("dig %v at %s: %v: %s", arguments, server, err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// parent is a name server that knows a root zone with nothing but these delegations.
func parent(t *testing.T, at netns.Node, delegations string) {
	t.Helper()
	var records []dns.RR
	zone := dns.NewZoneParser(strings.NewReader("$TTL 3600\n. SOA root. root. 1 7200 600 86400 60\n. NS root.\nroot. A "+at.IP.String()+"\n"+delegations), ".", "")
	for record, ok := zone.Next(); ok; record, ok = zone.Next() {
		records = append(records, record)
	}
	if err := zone.Err(); err != nil {
		t.Fatal(err)
	}
	of := func(name string, kind uint16) (found []dns.RR) {
		for _, record := range records {
			if h := record.Header(); h.Rrtype == kind && strings.EqualFold(h.Name, name) {
				found = append(found, record)
			}
		}
		return found
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m, question := new(dns.Msg).SetReply(q), q.Question[0]
		m.Authoritative = true
		m.Answer = of(question.Name, question.Qtype)
		for next, end := 0, false; !end && question.Name != "."; next, end = dns.NextLabel(question.Name, next) {
			if cut := of(question.Name[next:], dns.TypeNS); len(cut) > 0 {
				m.Authoritative, m.Answer, m.Ns = false, nil, cut
				break
			}
		}
		for _, record := range append(m.Ns, m.Answer...) {
			if ns, ok := record.(*dns.NS); ok {
				m.Extra = append(m.Extra, of(ns.Ns, dns.TypeA)...)
			}
		}
		if len(m.Answer)+len(m.Ns) == 0 {
			m.Ns = of(".", dns.TypeSOA)
		}
		_ = w.WriteMsg(m)
	})
	packets, err := at.ListenPacket("udp4", at.IP.String()+":53")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := at.Listen("tcp4", at.IP.String()+":53")
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: listener, Handler: handler}} {
		go func() { _ = server.ActivateAndServe() }()
	}
	t.Cleanup(func() { _, _ = packets.Close(), listener.Close() })
}

// virtualHosts answers with the name that it was asked for.
func virtualHosts(t *testing.T, at netns.Node, who string) {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:8080", at.IP))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(w, "%s at %s", request.Host, who)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// browse asks the resolver for a name and fetches its page.
func (m *domain) browse(from netns.Node, name string) (string, error) {
	answer, err := ask(from, "udp", m.Resolver.IP, name+".", dns.TypeA)
	if err != nil {
		return "", err
	}
	for _, record := range answer.Answer {
		if a, ok := record.(*dns.A); ok {
			transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return from.DialContext(ctx, network, a.A.String()+":80")
			}}
			response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("http://" + name + "/")
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			return string(text), err
		}
	}
	return "", fmt.Errorf("%s has no address: %v", name, answer)
}
