package e2e

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// webQUIC is where the names of the web are read from QUIC.
var webQUIC = net.UDPAddrFromAddrPort(netip.AddrPortFrom(webAddress, 443))

func siteName(i int) string { return "site" + strconv.Itoa(i+1) + ".foo.example." }

// sites has each host serve a site by QUIC that says its name, and a page by HTTP.
func (r *realm) sites(more ...string) *daemon {
	r.t.Helper()
	r.t.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	r.webServers()
	var hosts []string
	for i, h := range r.Hosts() {
		quicSite(r.t, h, 8443, siteName(i))
		hosts = append(hosts, hostOpening(i, h.IP, siteName(i), "tcp/80:8080, udp/443:8443"))
	}
	return r.start(with(r.publishing(hosts...), append(more, "web: {addresses: ["+webAddress.String()+"], quic: true}")...))
}

// dialSite connects to a site by its name at the web address. Without a hybrid key exchange the hello is one datagram.
func dialSite(ctx context.Context, socket net.PacketConn, name string, curves ...tls.CurveID) (*quic.Conn, error) {
	return quic.Dial(ctx, socket, webQUIC, &tls.Config{
		ServerName: strings.TrimSuffix(name, "."), InsecureSkipVerify: true, NextProtos: []string{"echo"}, CurvePreferences: curves, //nolint:gosec // the test's own server
	}, &quic.Config{})
}

// saidBySite is what a site says to a word.
func saidBySite(ctx context.Context, c *quic.Conn, word string) (string, error) {
	stream, err := c.OpenStreamSync(ctx)
	if err != nil {
		return "", err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = stream.SetDeadline(deadline)
	}
	if _, err := io.WriteString(stream, word); err != nil {
		return "", err
	}
	if err := stream.Close(); err != nil {
		return "", err
	}
	all, err := io.ReadAll(stream)
	return string(all), err
}

// Two hosts behind one address: by QUIC, too, each is reached by its name, be the hello one datagram or, with a post-quantum
// key exchange, two.
func TestQUICByName(t *testing.T) {
	const runs = 100
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			d := r.sites(r.interfacesAt(mode))
			fetch := func(i int) error {
				socket, err := r.Clients[0].ListenPacket("udp4", netip.AddrPortFrom(r.Clients[0].IP, 0).String())
				if err != nil {
					return err
				}
				t.Cleanup(func() { _ = socket.Close() }) // by a port again it would reach the host before
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				curve := []tls.CurveID{tls.X25519, tls.X25519MLKEM768}[i/2%2]
				c, err := dialSite(ctx, socket, siteName(i%2), curve)
				if err != nil {
					return err
				}
				defer c.CloseWithError(0, "") //nolint:errcheck // it has said all
				word := strconv.Itoa(i)
				answer, err := saidBySite(ctx, c, word)
				if err == nil && answer != siteName(i%2)+word {
					err = fmt.Errorf("%q", answer)
				}
				return err
			}
			for i := range runs {
				if err := fetch(i); err != nil {
					t.Fatalf("run %d, %s: %v", i, siteName(i%2), err)
				}
			}
			web := d.status().Web
			t.Logf("%+v", *web)
			if web.Opened != runs || web.Refused != 0 {
				t.Errorf("%d attempts opened, %d refused, of %d", web.Opened, web.Refused, runs)
			}
			for _, s := range d.sessions("--protocol", "udp") {
				if s.Remote.Addr() != r.Clients[0].IP {
					t.Errorf("a host sees %s for its client", s.Remote)
				}
			}
		})
	}
}

// A client of one host may change its port. One of two may not: which of them it means is not known.
func TestQUICByNameRebinding(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	d := r.sites()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var clients [2]*rebinding
	var connections [2]*quic.Conn
	for i := range clients {
		clients[i] = newRebinding(t, r.Clients[0])
		defer clients[i].Close()
		var err error
		if connections[i], err = dialSite(ctx, clients[i], siteName(i)); err != nil {
			t.Fatal(err)
		}
		defer connections[i].CloseWithError(0, "") //nolint:errcheck // the test is over
		if i > 0 {
			break
		}
		for round := range 4 {
			word := "round " + strconv.Itoa(round)
			if answer, err := saidBySite(ctx, connections[0], word); err != nil || answer != siteName(0)+word {
				t.Fatalf("%s: %q, %v", word, answer, err)
			}
			clients[0].rebind()
		}
	}
	ports := map[uint16]bool{}
	for _, s := range d.sessions("--protocol", "udp") {
		if s.Private.Addr() == r.Hosts()[0].IP {
			ports[s.Remote.Port()] = true
		}
	}
	if len(ports) != 4 || d.status().Web.Opened != 2 {
		t.Errorf("%d ports by %d attempts", len(ports), d.status().Web.Opened)
	}
	stopped, stop := context.WithCancel(ctx)
	go func() { _, _ = saidBySite(stopped, connections[0], "from nowhere") }()
	eventually(t, 10*time.Second, "its datagrams are refused", func() bool { return d.counted("drop_rebinding") > 0 })
	stop()
	if answer, err := saidBySite(ctx, connections[1], "still here"); err != nil || answer != siteName(1)+"still here" {
		t.Errorf("%q, %v", answer, err)
	}
}

// While 20,000 forged Initials come a second, pages are fetched by TCP.
func TestForgedInitialsLeaveTCPAlone(t *testing.T) {
	const rate, fetches = 20000, 100
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2})
	d := r.sites()
	hello, err := os.ReadFile("../../internal/web/hello/testdata/rfc9001-0.quic") // of a name that nobody has
	if err != nil {
		t.Fatal(err)
	}
	const batch = 10
	sent := r.floodOf(r.Clients[1], rate/batch, func(to, from packets.MAC) (round [][]byte) {
		for i := range batch {
			var source [4]byte
			binary.BigEndian.PutUint32(source[:], 203<<24|rand.Uint32()>>8) //nolint:gosec // any will do
			payload := append([]byte(nil), hello...)
			payload[len(payload)-1] ^= byte(i % 2) // half of them are not authentic
			p := packets.NewUDP(netip.AddrPortFrom(netip.AddrFrom4(source), anyPort()), webQUIC.AddrPort(), string(payload))
			round = append(round, p.Between(from, to).Bytes())
		}
		return round
	})
	began, busy := time.Now(), d.busy()
	eventually(t, 10*time.Second, "the flood is more than is read", func() bool { return d.counted("drop_web_full") > 0 })
	for i := range fetches {
		page, err := fetchByName(r.Clients[0], siteName(i%2))
		if err != nil || !strings.Contains(page, hostName(i%2)) {
			t.Fatalf("fetch %d: %q, %v", i, page, err)
		}
	}
	lasted := time.Since(began)
	t.Logf("%.0f forged Initials/s, %d fetches in %v, the daemon took %.0f %% of a core; %+v",
		float64(sent.Load())/lasted.Seconds(), fetches, lasted, 100*(d.busy()-busy).Seconds()/lasted.Seconds(), *d.status().Web)
	if d.counted("drop_name_unknown") == 0 {
		t.Error("the name that nobody has is not counted")
	}
}
