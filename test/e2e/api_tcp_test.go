package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// signer signs certificates of servers and clients.
type signer struct {
	certificate.Authority
	t *testing.T
}

func newSigner(t *testing.T) *signer { return &signer{certificate.NewAuthority(t), t} }

// write writes the certificate by which clients and servers know each other.
func (a *signer) write(name string) {
	a.t.Helper()
	a.Write(a.t, name, "")
}

// client writes a certificate by a name, and its key, to files.
func (a *signer) client(name, crt, key string) {
	a.t.Helper()
	a.files(clientNamed(name), crt, key)
}

// server writes a certificate of an address, and its key, to files.
func (a *signer) server(at netip.Addr, crt, key string) {
	a.t.Helper()
	a.files(x509.Certificate{IPAddresses: []net.IP{at.AsSlice()}, DNSNames: []string{"gw.example.net"}}, crt, key)
}

// files writes a certificate and its key in the place of others, each at once.
func (a *signer) files(template x509.Certificate, crt, key string) {
	a.t.Helper()
	a.Issue(a.t, template).Write(a.t, crt+".new", key+".new")
	for _, name := range []string{crt, key} {
		if err := os.Rename(name+".new", name); err != nil {
			a.t.Fatal(err)
		}
	}
}

// clientNamed is the template of a client by a name.
func clientNamed(name string) x509.Certificate {
	return x509.Certificate{DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// called is who has a certificate by a name.
func (a *signer) called(name string) tls.Certificate {
	a.t.Helper()
	return *a.Issue(a.t, clientNamed(name)).TLS()
}

// visitor asks from a machine over TCP.
type visitor struct {
	t    *testing.T
	http *http.Client
	at   string
}

func newVisitor(t *testing.T, from netns.Node, at netip.AddrPort, a *signer, certificates ...tls.Certificate) visitor {
	secrets := &tls.Config{RootCAs: a.Pool(), Certificates: certificates, MinVersion: tls.VersionTLS12}
	return visitor{t, &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: secrets, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return from.DialContext(ctx, "tcp4", address)
		},
	}}, "https://" + at.String()}
}

// open asks; header are its names and values in turns.
func (v visitor) open(method, target string, header ...string) (*http.Response, error) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.at+target, http.NoBody)
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	return v.http.Do(request)
}

// ask returns a status and what was said; 0 and why where nothing was.
func (v visitor) ask(method, target string, header ...string) (int, string) {
	v.t.Helper()
	response, err := v.open(method, target, header...)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, target, err)
	}
	return response.StatusCode, string(body)
}

// Over TCP each request takes its role: by a token, by a certificate, by neither. What is led here by others' names and sites
// is refused, and what is revoked ends at once.
func TestAPIOverTCP(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	a := newSigner(t)
	inside, at := r.Hosts()[0], netip.AddrPortFrom(r.Gateway.PrivateAddress, 9470)
	certificate, key, ca := filepath.Join(r.directory, "api.crt"), filepath.Join(r.directory, "api.key"), filepath.Join(r.directory, "ca.crt")
	a.server(at.Addr(), certificate, key)
	a.write(ca)
	told := filepath.Join(r.directory, "events.jsonl")
	d := r.start(r.configuration() + fmt.Sprintf(`api:
  listen: [%q]
  names: [gw.example.net]
  certificate: %s
  key: %s
  client_ca: %s
  clients: [{name: prometheus.example.net, role: read}]
events: [{name: a, file: %s, kinds: [login_failed]}]
`, at, certificate, key, ca, told))

	tokens := map[string]string{}
	for _, role := range []string{"read", "operate", "admin"} {
		out, err := d.tell("token", "create", role, "--role", role, "--for", "1h")
		lines := strings.Fields(out)
		if err != nil || !strings.HasPrefix(lines[len(lines)-1], "rg_") {
			t.Fatalf("%v, %s", err, out)
		}
		tokens[role] = "Bearer " + lines[len(lines)-1]
	}
	nobody := newVisitor(t, inside, at, a)
	prometheus := newVisitor(t, inside, at, a, a.called("prometheus.example.net"))
	_, text := nobody.ask(http.MethodGet, "/v1/openapi.json", "Authorization", tokens["read"])
	var described struct {
		Paths map[string]map[string]struct {
			Role string `json:"x-role"`
		}
	}
	if err := json.Unmarshal([]byte(text), &described); err != nil || len(described.Paths) < 20 {
		t.Fatalf("%v, %s", err, text)
	}
	rank := map[string]int{"none": 0, "read": 1, "operate": 2, "admin": 3}
	before := d.status().Generation
	for path, methods := range described.Paths {
		for method, route := range methods {
			method = strings.ToUpper(method)
			target := path + "?nonsense=1" // who may is told of that, and nothing changes
			if status, text := nobody.ask(method, target); status != http.StatusUnauthorized {
				t.Errorf("%s %s by nobody: %d %s", method, path, status, text)
			}
			for role, token := range tokens {
				want := http.StatusForbidden
				if rank[role] >= rank[route.Role] {
					want = http.StatusBadRequest
				}
				if status, text := nobody.ask(method, target, "Authorization", token); status != want {
					t.Errorf("%s %s by a token of %s: %d %s, want %d", method, path, role, status, text, want)
				}
			}
			want := http.StatusForbidden
			if rank[route.Role] <= rank["read"] {
				want = http.StatusBadRequest
			}
			if status, text := prometheus.ask(method, target); status != want {
				t.Errorf("%s %s by a certificate: %d %s, want %d", method, path, status, text, want)
			}
		}
	}
	if now := d.status().Generation; now != before {
		t.Errorf("generation %d is in force, %d was before", now, before)
	}
	for what, c := range map[string]struct {
		v      visitor
		want   int
		header []string
	}{
		"another name":          {nobody, http.StatusMisdirectedRequest, []string{"Host", "evil.example:9470", "Authorization", tokens["admin"]}},
		"a name of ours":        {nobody, http.StatusOK, []string{"Host", "gw.example.net:9470", "Authorization", tokens["admin"]}},
		"another site":          {nobody, http.StatusForbidden, []string{"Origin", "https://evil.example", "Authorization", tokens["admin"]}},
		"a stranger's name":     {newVisitor(t, inside, at, a, a.called("evil.example.net")), http.StatusUnauthorized, nil},
		"a stranger's signer":   {newVisitor(t, inside, at, a, newSigner(t).called("prometheus.example.net")), 0, nil},
		"no token that is ours": {nobody, http.StatusUnauthorized, []string{"Authorization", "Bearer rg_AAAA"}},
	} {
		if status, text := c.v.ask(http.MethodPost, "/v1/reload", c.header...); status != c.want {
			t.Errorf("%s: %d %s, want %d", what, status, text, c.want)
		}
	}
	eventually(t, 5*time.Second, "failed logins are told", func() bool {
		text, _ := os.ReadFile(told)
		return strings.Count(string(text), `"kind":"login_failed"`) == 2 && strings.Contains(string(text), inside.IP.String())
	})
	if !strings.Contains(d.logged(), `request="POST /v1/reload" caller="token admin" status=200`) {
		t.Error("the log does not say by which token")
	}

	a.server(at.Addr(), certificate, key) // renewed
	if status, text := nobody.ask(http.MethodGet, "/healthz", "Authorization", tokens["read"]); status != http.StatusOK {
		t.Errorf("with a renewed certificate: %d %s", status, text)
	}
	drops, err := nobody.open(http.MethodGet, "/v1/drops", "Authorization", tokens["operate"])
	if err != nil || drops.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", drops, err)
	}
	if out, err := d.tell("token", "revoke", "operate"); err != nil {
		t.Fatal(out)
	}
	last, err := io.ReadAll(drops.Body)
	_ = drops.Body.Close()
	if err != nil || !strings.Contains(string(last), "the caller may ask no more") {
		t.Errorf("a stream of a token that was revoked ended with %q, %v", last, err)
	}
	if status, _ := nobody.ask(http.MethodGet, "/v1/status", "Authorization", tokens["operate"]); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", status)
	}

	d.kill()
	d.run()
	if status, text := nobody.ask(http.MethodGet, "/v1/status", "Authorization", tokens["read"]); status != http.StatusOK {
		t.Errorf("a token after a restart: %d %s", status, text)
	}
	d.write(r.configuration())
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if status, text := nobody.ask(http.MethodGet, "/v1/status", "Authorization", tokens["read"]); status != 0 {
		t.Errorf("where the configuration has no address any more: %d %s", status, text)
	}
}
