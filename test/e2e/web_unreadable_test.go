package e2e

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// sends says something to the web address, and hears all that is answered.
func sends(from netns.Node, text string) (string, error) {
	c, err := visits(from, text)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(c)
	return string(answer), err
}

// What cannot be read is counted for its reason, and its client hears what it understands; by QUIC of an unknown version it
// hears nothing.
func TestWebUnreadable(t *testing.T) {
	t.Parallel()
	hello, err := os.ReadFile("../../internal/web/hello/testdata/rfc9001-0.quic")
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(hello[1:], 0xff00001d) // draft 29, where the version is
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			client := r.Clients[0]
			quicSite(t, r.Hosts()[0], 8443, siteName(0))
			webServer(t, r.Hosts()[0], 8080, hostName(0))
			d := r.start(with(r.publishing(hostOpening(0, r.Hosts()[0].IP, siteName(0), "tcp/80:8080, udp/443:8443")),
				"web: {addresses: ["+webAddress.String()+"], quic: true}",
				r.interfacesAt(mode)))
			readsNames(t, client)
			for i, c := range []struct{ what, says, hears string }{
				{"neither TLS nor HTTP", "\x00\x01\x02 what is this?", "reset"},
				{"a record of TLS without a hello", "\x16\x03\x01\x00\x04\x02\x00\x00\x00", "\x15\x03\x03\x00\x02\x02\x70"},
				{"a request without a version", "GET /\r\n\r\n", "421 Misdirected"},
				{"a request with two hosts", "GET / HTTP/1.1\r\nHost: a.foo.example\r\nHost: b.foo.example\r\n\r\n", "421 Misdirected"},
			} {
				answer, err := sends(client, c.says)
				if err != nil {
					answer += err.Error()
				}
				if !strings.Contains(answer, c.hears) {
					t.Errorf("%s heard %q", c.what, answer)
				}
				eventually(t, 5*time.Second, c.what+" is counted", func() bool { return d.counted("drop_name_malformed") > uint64(i) })
			}
			socket, err := client.ListenPacket("udp4", netip.AddrPortFrom(client.IP, 0).String())
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			if _, err := socket.WriteTo(hello, net.Addr(webQUIC)); err != nil {
				t.Fatal(err)
			}
			eventually(t, 10*time.Second, "the version is counted", func() bool { return d.counted("drop_quic_version") == 1 })
			if page, err := fetchByName(client, siteName(0)); err != nil || !strings.Contains(page, hostName(0)) {
				t.Errorf("the same by TCP: %q, %v", page, err)
			}
			_ = socket.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // an answer has been there for long
			if n, _, err := socket.ReadFrom(make([]byte, 1500)); err == nil {
				t.Errorf("an unknown version heard %d octets", n)
			}
			if n := d.counted("drop_name_unknown"); n != 0 {
				t.Errorf("%d are counted for an unknown name", n)
			}
		})
	}
}
