package browser

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// TestQUICRightHost fetches by HTTP/3 from sites of three hosts behind one address, with hellos of one datagram, of two, and of two
// whose second comes first: 99 times, and 1,002 at length.
func TestQUICRightHost(t *testing.T) {
	fetches := 99
	if lab.Lengthy() {
		fetches = 1002
	}
	t.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	f := newFarm(newWorld(t, farmOptions(1)), farmHosts, siteHabits{}, sitesAddress)
	from := f.RemoteClients[0]
	right := 0
	for i := range fetches {
		site, way := i%farmHosts, i/farmHosts%3
		var curves []tls.CurveID
		var wrap func(net.PacketConn) net.PacketConn
		switch way {
		case 0:
			curves = []tls.CurveID{tls.X25519}
		case 2:
			wrap = func(c net.PacketConn) net.PacketConn { return &shuffled{PacketConn: c} }
		}
		port := uint16(20000 + i) // #nosec G115 -- 1,002 at most
		line, err := fetchQUIC(from, port, sitesAddress, siteOf(site, byGateway), fmt.Sprintf("/seen?%d", i), f.certificates.pool(), wrap, curves...)
		want := fmt.Sprintf("%s %s %s HTTP/3.0 TLS1.3 %d", farmHost(site, byGateway), siteOf(site, byGateway), from.IP, i)
		if err != nil || line != want {
			t.Errorf("fetch %d, way %d: %q, %v, want %q", i, way, line, err, want)
			continue
		}
		right++
	}
	status, err := f.status()
	f.must(err)
	t.Logf("right host %d of %d; %+v; packets by what became of them: %s", right, fetches, *status.Web, f.dropped())
}

// shuffled sends its second datagram before its first.
type shuffled struct {
	net.PacketConn
	first []byte
	sent  bool
}

// WriteTo implements net.PacketConn.
func (s *shuffled) WriteTo(p []byte, to net.Addr) (int, error) {
	if s.sent {
		return s.PacketConn.WriteTo(p, to)
	}
	if s.first == nil {
		s.first = append([]byte(nil), p...)
		return len(p), nil
	}
	s.sent = true
	if n, err := s.PacketConn.WriteTo(p, to); err != nil {
		return n, err
	}
	_, err := s.PacketConn.WriteTo(s.first, to)
	return len(p), err
}

// Browsers that have heard of a site's HTTP/3 use it, and are back at TCP where a network lets no UDP through.
func TestBlockedQUIC(t *testing.T) {
	t.Parallel()
	f := newFarm(newWorld(t, farmOptions(2)), farmHosts, siteHabits{alternative: true}, sitesAddress)
	for i, s := range []surfer{{who: "Firefox"}, {who: "Chromium", http: "Alt-Svc"}} {
		client := f.RemoteClients[i]
		browser, err := s.start(f, f.newMachine(client, unboundIP))
		if err != nil {
			t.Fatal(s.who, err)
		}
		visit := func() outcome {
			o := look(browser, pageURL("", f.origins(0, farmHosts, byGateway)), hostName(0), resources)
			if o.wrong || o.failed {
				t.Errorf("%s: wrong %t, failed %t after %v: %s", s.who, o.wrong, o.failed, o.took, o.detail)
			}
			return o
		}
		visit()
		eventually(t, time.Minute, s.who+" uses QUIC", func() bool {
			time.Sleep(6 * time.Second) // hosts close idle connections
			visit()
			return f.sawOf(client.IP)["HTTP/3.0"] > 0
		})
		f.block(client)
		before := f.sawOf(client.IP)
		var slowest time.Duration
		for range 3 {
			time.Sleep(6 * time.Second)
			slowest = max(slowest, visit().took)
		}
		after := f.sawOf(client.IP)
		t.Logf("%s: before %v, after UDP was blocked %v, the slowest page took %v", s.who, before, after, slowest)
		if after["HTTP/2.0"] == before["HTTP/2.0"] {
			t.Errorf("%s did not come back by TCP", s.who)
		}
	}
}

// block lets none of a client's UDP to web sites out.
func (f *farm) block(client netns.Node) {
	f.t.Helper()
	if out, err := client.Command(background, "iptables", strings.Fields("-A OUTPUT -p udp --dport 443 -j DROP")...).CombinedOutput(); err != nil {
		f.t.Fatalf("iptables: %v\n%s", err, out)
	}
}

// sawOf is how many requests of a client the hosts have seen by each version of HTTP.
func (f *farm) sawOf(client netip.Addr) map[string]int {
	all := map[string]int{}
	for _, host := range f.inside {
		protocols, _ := host.saw(client)
		for protocol, n := range protocols {
			all[protocol] += n
		}
	}
	return all
}
