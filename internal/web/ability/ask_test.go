package ability

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	made "github.com/realmgate/realmgate/test/certificate"
	"github.com/realmgate/realmgate/test/lab"
)

// Each host's TCP is what its kernel is told.
func TestAskWhatHostsCan(t *testing.T) {
	t.Parallel()
	l := lab.New(t, "ability")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gateway, err := l.Namespace("gateway")
	must(err)
	for i, c := range []struct {
		name, key string
		mss       int // advertised; 0: the link's
		want      Can
	}{
		{"all", "", 0, all},
		{"timestamps off", "net/ipv4/tcp_timestamps", 0, Can{datapath.WebPromise{MSS: 1460, SACK: true}, true}},
		{"SACK off", "net/ipv4/tcp_sack", 0, Can{datapath.WebPromise{MSS: 1460, Timestamps: true}, true}},
		{"scale off", "net/ipv4/tcp_window_scaling", 0, Can{all.WebPromise, false}},
		{"a small MSS", "", 536, Can{datapath.WebPromise{MSS: 536, SACK: true, Timestamps: true}, true}},
		{"a small MSS without timestamps", "net/ipv4/tcp_timestamps", 536, Can{datapath.WebPromise{MSS: 536, SACK: true}, true}},
	} {
		host, err := l.Namespace(fmt.Sprintf("host%d", i))
		must(err)
		inside, at := fmt.Sprintf("eth%d", i), fmt.Sprintf("10.0.%d.100", i)
		must(l.Veth(gateway, inside, host, "eth0"))
		must(gateway.Address(inside, fmt.Sprintf("10.0.%d.1/24", i)))
		must(host.Address("eth0", at+"/24"))
		must(gateway.Up(inside))
		must(host.Up("eth0"))
		must(host.WaitUp())
		if c.key != "" {
			must(host.SetSysctl(c.key, "0"))
		}
		if c.mss > 0 {
			must(host.Do(func() error {
				out, err := exec.Command("ip", "route", "change", fmt.Sprintf("10.0.%d.0/24", i), "dev", "eth0", "advmss", fmt.Sprint(c.mss)).CombinedOutput() //nolint:gosec // our own words
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}))
		}
		listener, err := host.Listen("tcp", at+":80")
		must(err)
		t.Cleanup(func() { _ = listener.Close() })
		to := netip.MustParseAddrPort(at + ":80")
		if a := Dial(gateway.DialContext).ask(t.Context(), Endpoint{To: to}); a.Err != nil || a.Can != c.want || a.TLS {
			t.Errorf("%s: %+v, want %+v", c.name, a, c.want)
		}
		if a := Dial(gateway.DialContext).ask(t.Context(), Endpoint{To: netip.AddrPortFrom(to.Addr(), 81)}); a.Err == nil || a.Can != (Can{}) {
			t.Errorf("%s, nobody listens: %+v", c.name, a)
		}
	}
}

// certificateFor is one of nobody's that anybody trusts.
func certificateFor(t testing.TB, names ...string) *tls.Certificate {
	t.Helper()
	return made.SelfSigned(t, x509.Certificate{DNSNames: names, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}).TLS()
}

// serve has what comes to a port of this machine served until the test ends.
func serve(t testing.TB, serves func(net.Conn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serves(c)
				_ = c.Close()
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

func handshake(config *tls.Config) func(net.Conn) {
	return func(c net.Conn) {
		server := tls.Server(c, config)
		_ = server.Handshake()
		_, _ = io.Copy(io.Discard, server)
	}
}

// shows has a certificate for each name that is asked for, and refuses others.
func shows(t testing.TB, certificates map[string]*tls.Certificate) func(net.Conn) {
	return handshake(&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := certificates[h.ServerName]; c != nil {
			return c, nil
		}
		return nil, errors.New("unknown")
	}})
}

func TestAskForCertificates(t *testing.T) {
	t.Parallel()
	one, two := certificateFor(t, "one.example", "*.Shop.example", "bad name\x1b[2J"), certificateFor(t, "two.example", "one.example")
	var many []string
	for i := range mostNames + 10 {
		many = append(many, fmt.Sprintf("n%d.example", i))
	}
	http := func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	}
	for name, c := range map[string]struct {
		serves func(net.Conn)
		plain  bool
		names  []string
		tls    bool
		want   []model.Name
		left   int
	}{
		"of each name":    {shows(t, map[string]*tls.Certificate{"one.example": one, "two.example": two}), false, []string{"one.example", "two.example"}, true, []model.Name{"one.example.", "*.shop.example.", "two.example."}, 0},
		"one is unknown":  {shows(t, map[string]*tls.Certificate{"two.example": two}), false, []string{"one.example", "two.example"}, true, []model.Name{"two.example.", "one.example."}, 0},
		"all are unknown": {shows(t, nil), false, []string{"one.example", "two.example"}, false, nil, 0},
		"TLS 1.2, who are you?": {
			handshake(&tls.Config{Certificates: []tls.Certificate{*one}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}), //nolint:gosec // as old hosts do
			false, []string{"one.example"}, true, []model.Name{"one.example.", "*.shop.example."}, 0,
		},
		"too many names":   {handshake(&tls.Config{Certificates: []tls.Certificate{*certificateFor(t, many...)}, MinVersion: tls.VersionTLS12}), false, []string{"x.example"}, true, nil, 10},
		"HTTP":             {http, false, []string{"one.example", "two.example"}, false, nil, 0},
		"ends at once":     {func(net.Conn) {}, false, []string{"one.example", "two.example"}, false, nil, 0},
		"a port of HTTP":   {handshake(&tls.Config{Certificates: []tls.Certificate{*one}, MinVersion: tls.VersionTLS12}), true, []string{"one.example"}, false, nil, 0},
		"nobody's address": {handshake(&tls.Config{Certificates: []tls.Certificate{*certificateFor(t)}, MinVersion: tls.VersionTLS12}), false, []string{"one.example"}, true, nil, 0},
	} {
		a := Dial(new(net.Dialer).DialContext).ask(t.Context(), Endpoint{To: serve(t, c.serves), TLS: !c.plain, Names: c.names})
		if name == "too many names" && len(a.Names) == mostNames {
			a.Names = nil
		}
		if a.Err != nil || a.Can.MSS == 0 || a.TLS != c.tls || fmt.Sprint(a.Names) != fmt.Sprint(c.want) || a.Left != c.left {
			t.Errorf("%s: %+v, want %v", name, a, c.want)
		}
	}
}

// Nothing is asked when it is over.
func TestAskEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	to := serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		cancel() // and says nothing
		_, _ = io.Copy(io.Discard, c)
	})
	a := Dial(new(net.Dialer).DialContext).ask(ctx, Endpoint{To: to, TLS: true, Names: []string{"a.example", "b.example"}})
	if a.Err != nil || a.TLS || len(a.Names) > 0 {
		t.Errorf("%+v", a)
	}
	if a = Dial(new(net.Dialer).DialContext).ask(ctx, Endpoint{To: to}); a.Err == nil || !strings.Contains(a.Err.Error(), "cancel") {
		t.Errorf("afterwards: %+v", a)
	}
}
