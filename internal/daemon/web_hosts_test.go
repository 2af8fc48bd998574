package daemon

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/certificate"
)

const twoSites = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - {name: hosta.foo.example., address: 10.0.0.100, services: [{names: [www.foo.example.], ports: [tcp/443]}]}
  - {name: hostb.foo.example., address: 10.0.0.101, services: [{names: [shop.foo.example.], ports: [tcp/443:8443]}]}
web: {addresses: [198.18.0.80]}
`

// told is a log that says when a line of it is there.
type told struct {
	slog.Handler
	line string
	is   chan struct{}
}

func (told) Enabled(context.Context, slog.Level) bool { return true }

func (l told) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.line {
		l.is <- struct{}{}
	}
	return nil
}

// secure serves TLS on this machine, with a certificate of these names.
func secure(t *testing.T, names ...string) net.Listener {
	t.Helper()
	own := certificate.SelfSigned(t, certificate.ForNames(names...))
	listener, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{*own.TLS()}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = c.(*tls.Conn).Handshake()
				_ = c.Close()
			}()
		}
	}()
	return listener
}

// promised is the TCP options that a web address answers a SYN with that has all of them.
func (b *rig) promised(address netip.Addr) []byte {
	b.t.Helper()
	syn := packets.NewTCP(visitor(1, 4000), netip.AddrPortFrom(address, 443), packets.SYN, "")
	syn.TCP.Options = []byte{2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7}
	end, made := b.calls(syn)
	answer, err := packets.Parse(made)
	if err != nil || end != "answered_cookie" {
		b.t.Fatalf("a SYN to %s ended with %s: %v", address, end, err)
	}
	return answer.TCP.Options
}

// Hosts are asked when the gateway runs: what they can is promised and listed, and whose certificates are for each other's
// names are told, until they have an address each.
func TestWebHosts(t *testing.T) {
	t.Parallel()
	log := told{slog.DiscardHandler, "certificate shared", make(chan struct{}, 1)}
	r := newTellingRig(t, twoSites, slog.New(log))
	r.routed()
	at := map[string]net.Listener{
		"10.0.0.100:443":  secure(t, "www.foo.example", "*.foo.example"),
		"10.0.0.101:8443": secure(t, "shop.foo.example"),
	}
	r.webHosts.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at[address].Addr().String())
	}
	list := func() []api.WebHost {
		t.Helper()
		rows, err := r.Listing(api.WebHosts.Name, api.Filter{})
		r.must(err)
		return rows.([]api.WebHost)
	}
	one, two := webAddress, netip.MustParseAddr("198.18.0.81")
	if rows := list(); len(rows) != 2 || rows[0].State != api.WebUnknown || rows[1].Inside != netip.MustParseAddr("10.0.0.101") || rows[1].Address != one {
		t.Errorf("at first: %+v", rows)
	}
	timestamps, sack := []byte{8, 10}, []byte{4, 2}
	if o := r.promised(one); strings.Contains(string(o), string(timestamps)) || strings.Contains(string(o), string(sack)) {
		t.Errorf("promised before anybody was asked: % x", o)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.webHosts.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-log.is
	rows := list()
	if len(rows) != 2 || rows[0].Address != one || rows[1].Address != one ||
		slices.ContainsFunc(rows, func(h api.WebHost) bool {
			return h.Host == "hosta.foo.example." && (!h.Timestamps || len(h.Certificate) != 2 || h.Asked.After(time.Now()))
		}) {
		t.Errorf("after they were asked: %+v", rows)
	}
	status, err := r.Status()
	r.must(err)
	if !slices.ContainsFunc(status.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "the certificate of hosta.foo.example. covers shop.foo.example. of hostb.foo.example.")
	}) {
		t.Errorf("warnings: %q", status.Warnings)
	}

	r.must(r.reloadWith(strings.Replace(twoSites, "[198.18.0.80]", "[198.18.0.80, 198.18.0.81]", 1)))
	now := r.view.Load().realm
	for name, want := range map[model.Name]netip.Addr{"www.foo.example.": one, "shop.foo.example.": two} {
		if entry, _ := now.Find(name); entry.Web != want {
			t.Errorf("%s is answered %s", name, entry.Web)
		}
	}
	if rows := list(); rows[0].Address != one || rows[1].Address != two || rows[1].Ports[0].To != 8443 {
		t.Errorf("with two addresses: %+v", rows)
	}
	if o := r.promised(one); !strings.Contains(string(o), string(timestamps)) || !strings.Contains(string(o), string(sack)) {
		t.Errorf("promised is % x", o)
	}
}
