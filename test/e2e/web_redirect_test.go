package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// answered says a request of HTTP to the web address, and from which place.
func answered(from netns.Node, line, name string) (response *http.Response, own netip.AddrPort, err error) {
	c, err := visits(from, fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, strings.TrimSuffix(name, ".")))
	if err != nil {
		return nil, own, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	response, err = http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		err = response.Body.Close()
	}
	return response, netip.MustParseAddrPort(c.LocalAddr().String()), err
}

// reaches wants what comes to a node from a client to be of one of its ports, up to and with text.
func reaches(t *testing.T, frames *netns.Frames, client netip.AddrPort, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		frame, err := frames.Receive(deadline)
		if err != nil {
			t.Errorf("%q does not come: %v", text, err)
			return
		}
		p, err := packets.Parse(frame)
		if err != nil || p.IPv4 == nil || p.TCP == nil || p.IPv4.Source != client.Addr() {
			continue
		}
		if p.TCP.Source != client.Port() {
			t.Errorf("there comes %s", p)
		}
		if bytes.Contains(p.Payload, []byte(text)) {
			return
		}
	}
}

// Who asks by HTTP is led to the same at https, by a service's word or a host's, and nothing of it reaches the host; but ACME's
// http-01 does.
func TestWebRedirect(t *testing.T) {
	t.Parallel()
	const challenge = "/.well-known/acme-challenge/x"
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			r.webServers()
			hosts, client := r.Hosts(), r.Clients[0]
			names := []string{siteName(0), hostName(1)}
			d := r.start(with(r.publishing(
				fmt.Sprintf("  - name: %s\n    address: %s\n    services:\n      - {names: [%s], ports: [tcp/80:8080, tcp/443:8443], redirect: https}\n", hostName(0), hosts[0].IP, names[0]),
				fmt.Sprintf("  - {name: %s, address: %s, open: [tcp/80:8080, tcp/443:8443], redirect: https}\n", names[1], hosts[1].IP),
			), "web: {addresses: ["+webAddress.String()+"]}",
				r.interfacesAt(mode)))
			readsNames(t, client)
			for i, name := range names {
				frames, err := hosts[i].Frames("eth0")
				if err != nil {
					t.Fatal(err)
				}
				defer frames.Close()
				before := d.counted("drop_redirected")
				for _, line := range []string{"GET /", "GET /a/b.html?c=d&e=%20f", "POST /form?" + challenge, "HEAD /.well-known/acme-challenge"} {
					_, path, _ := strings.Cut(line, " ")
					response, _, err := answered(client, line, name)
					if err != nil {
						t.Fatalf("%s of %s: %v", line, name, err)
					}
					if to := "https://" + strings.TrimSuffix(name, ".") + path; response.StatusCode != http.StatusPermanentRedirect || response.Header.Get("Location") != to {
						t.Errorf("%s of %s: %s to %q", line, name, response.Status, response.Header.Get("Location"))
					}
				}
				eventually(t, 5*time.Second, "each is counted", func() bool { return d.counted("drop_redirected") >= before+4 })
				response, own, err := answered(client, "GET "+challenge, name)
				if err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("a challenge to %s: %+v, %v", name, response, err)
				}
				reaches(t, frames, own, "GET "+challenge)
			}
			if w := d.status().Web; w.Refused != 8 || w.Opened != 2 {
				t.Errorf("status is %+v", *w)
			}
		})
	}
}
