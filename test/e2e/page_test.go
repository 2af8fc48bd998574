package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

// login types a token into the form of the page, and has what comes after it ask with the cookie.
func (v visitor) login(token string, header ...string) *http.Response {
	v.t.Helper()
	v.http.Jar, _ = cookiejar.New(nil)
	form := strings.NewReader(url.Values{"token": {token}}.Encode())
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.at+"/login", form)
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := v.http.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// The page over TLS: a certificate opens it, and so does a token, whose cookie no other site can use; what other sites ask for by it
// changes nothing.
func TestPageOverTLS(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	a := newSigner(t)
	inside, at := r.Hosts()[0], netip.AddrPortFrom(r.Gateway.PrivateAddress, 9470)
	certificate, key, ca := filepath.Join(r.directory, "api.crt"), filepath.Join(r.directory, "api.key"), filepath.Join(r.directory, "ca.crt")
	a.server(at.Addr(), certificate, key)
	a.write(ca)
	d := r.start(r.configuration() + fmt.Sprintf("api: {listen: [%q], certificate: %s, key: %s, client_ca: %s, clients: [{name: ann.example.net, role: read}]}\n", at, certificate, key, ca))
	made, err := d.tell("token", "create", "bob", "--role", "operate")
	if err != nil {
		t.Fatal(made)
	}
	lines := strings.Fields(made)
	token := lines[len(lines)-1]

	ann := newVisitor(t, inside, at, a, a.called("ann.example.net"))
	if status, text := ann.ask(http.MethodGet, "/"); status != http.StatusOK || !strings.Contains(text, "you are certificate ann.example.net., role read") {
		t.Errorf("by a certificate: %d %s", status, text)
	}
	bob := newVisitor(t, inside, at, a)
	if status, text := bob.ask(http.MethodGet, "/"); status != http.StatusUnauthorized || !strings.Contains(text, `name="token"`) {
		t.Errorf("by nobody: %d %s", status, text)
	}
	for what, c := range map[string]struct {
		token  string
		header []string
		want   int
	}{
		"a wrong token":   {"rg_AAAA", nil, http.StatusUnauthorized},
		"of another site": {token, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"cross-site":      {token, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
	} {
		if response := bob.login(c.token, c.header...); response.StatusCode != c.want || response.Header.Get("Set-Cookie") != "" {
			t.Errorf("a login with %s: %d, %v", what, response.StatusCode, response.Header)
		}
	}
	cookie := bob.login(token).Header.Get("Set-Cookie")
	for _, want := range []string{"__Host-realmgate-9470=", "Path=/", "HttpOnly", "Secure", "SameSite=Strict", "Max-Age=43200"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie is %q, without %s", cookie, want)
		}
	}
	if status, text := bob.ask(http.MethodGet, "/"); status != http.StatusOK || !strings.Contains(text, "you are token bob, role operate") {
		t.Errorf("by a cookie: %d %s", status, text)
	}
	for what, header := range map[string][]string{"another site": {"Origin", "https://evil.example"}, "another name": {"Host", "evil.example"}} {
		if status, _ := bob.ask(http.MethodPost, "/v1/reload", header...); status != http.StatusForbidden && status != http.StatusMisdirectedRequest {
			t.Errorf("a reload by %s with the cookie: %d", what, status)
		}
	}
	if status, text := bob.ask(http.MethodPost, "/v1/reload", "Origin", bob.at, "Sec-Fetch-Site", "same-origin"); status != http.StatusOK {
		t.Errorf("a reload by the page: %d %s", status, text)
	}
	if out, err := d.tell("token", "revoke", "bob"); err != nil {
		t.Fatal(out)
	}
	if status, _ := bob.ask(http.MethodGet, "/v1/status"); status != http.StatusUnauthorized {
		t.Errorf("after the token is revoked: %d", status)
	}
}

// With a million sessions the first screen comes at once, and ten who watch cost little memory.
func TestPageBesideAMillionSessions(t *testing.T) {
	lab.LengthyOnly(t)
	const all, readers, rounds = 1_000_000, 10, 5
	r := newRealm(t, netns.Options{Hosts: 1})
	r.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	d := r.start(with(r.configuration(), "capacity: 1500000", "limits: {host_sessions: 0, host_rate: 0}", `api: {listen: ["127.0.0.1:9470"]}`))
	host := r.Hosts()[0]
	frames := r.frames(host, r.Gateway.Private[0], all, func(i int) packets.Packet {
		var remote [4]byte
		binary.BigEndian.PutUint32(remote[:], 203<<24|uint32(i>>4))
		return packets.NewTCP(netip.AddrPortFrom(host.IP, uint16(2000+i&15)), netip.AddrPortFrom(netip.AddrFrom4(remote), 443), packets.SYN, "")
	})
	_, stop := r.onslaught(host, 10_000_000, frames) // over and over, as links lose some
	defer stop()
	eventually(t, 3*time.Minute, "there are a million", func() bool { return d.status().Sessions.Used >= all })
	stop()
	token := func(name string) string {
		made, err := d.tell("token", "create", name, "--role", "operate")
		if err != nil {
			t.Fatal(made)
		}
		lines := strings.Fields(made)
		return lines[len(lines)-1]
	}
	v := visitor{t, &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return r.Gateway.DialContext(ctx, "tcp4", address)
	}}}, "http://127.0.0.1:9470"}
	v.login(token("ann"))
	if status, text := v.ask(http.MethodGet, "/"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	took := make([]time.Duration, rounds)
	for i := range took {
		began := time.Now()
		if status, text := v.ask(http.MethodGet, "/"); status != http.StatusOK || !strings.Contains(text, "Sessions") {
			t.Fatalf("%d %s", status, text)
		}
		took[i] = time.Since(began)
	}
	before := d.memory()
	for i := range readers {
		if i == readers/2 { // one listens eight times at most
			v.login(token("bob"))
		}
		response, err := v.open(http.MethodGet, "/v1/stream?topics=bans,drops,events,names,pool,status")
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", response, err)
		}
		go func() { _, _ = io.Copy(io.Discard, response.Body) }()
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	most, begin := 0, time.Now()
	eventually(t, time.Minute, "they watch for a while", func() bool {
		most = max(most, d.memory())
		return time.Since(begin) > 20*time.Second
	})
	slices.Sort(took)
	t.Logf("beside %d sessions: the first screen in %s (%s to %s); %d readers take %.1f MiB more than %.1f",
		all, took[rounds/2].Round(time.Millisecond), took[0].Round(time.Millisecond), took[rounds-1].Round(time.Millisecond), readers,
		float64(most-before)/1024, float64(before)/1024)
	if took[rounds/2] > time.Second {
		t.Errorf("the first screen takes %s", took[rounds/2])
	}
	if most-before > 20*1024 {
		t.Errorf("%d readers take %d KiB", readers, most-before)
	}
}
