package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// webAddress is where the names of the web are in these tests.
var webAddress = netip.MustParseAddr("198.18.0.80")

// fetchByName has curl fetch a page of a host by name at the web address, with more arguments.
func fetchByName(from netns.Node, name string, more ...string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	arguments := append([]string{"-sS", "--max-time", "10", "--resolve", name + ":80:" + webAddress.String(), "http://" + name + "/"}, more...)
	out, err := from.Command(context.Background(), "curl", arguments...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("curl %s: %w: %s", name, err, out)
	}
	return string(out), nil
}

// A host inside that asks another name server comes by the web address, to any host, itself among them; who asks for a name
// that nobody has is told.
func TestWebByNameFromInside(t *testing.T) {
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			d := r.sites(r.interfacesAt(mode))
			from := r.Hosts()[0]
			for i := range 2 {
				for range 5 {
					if page, err := fetchByName(from, siteName(i)); err != nil || !strings.Contains(page, hostName(i)) {
						t.Fatalf("%s answered %q, %v", siteName(i), page, err)
					}
				}
				socket, err := from.ListenPacket("udp4", netip.AddrPortFrom(from.IP, 0).String())
				if err != nil {
					t.Fatal(err)
				}
				defer socket.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				c, err := dialSite(ctx, socket, siteName(i))
				if err != nil {
					t.Fatalf("%s by QUIC: %v", siteName(i), err)
				}
				defer c.CloseWithError(0, "") //nolint:errcheck // it has said all
				if answer, err := saidBySite(ctx, c, "word"); err != nil || answer != siteName(i)+"word" {
					t.Errorf("%s by QUIC: %q, %v", siteName(i), answer, err)
				}
			}
			if page, err := fetchByName(from, "nobody.foo.example.", "-i"); err != nil || !strings.Contains(page, "421") {
				t.Errorf("a name that nobody has: %q, %v", page, err)
			}
			if n := d.counted("drop_name_unknown"); n == 0 {
				t.Error("nobody's name is not counted")
			}
			eventually(t, 10*time.Second, "what was refused has ended", func() bool {
				for _, s := range d.sessions("--protocol", "tcp") {
					if s.State == "established" {
						return false
					}
				}
				return true
			})
		})
	}
}

// Two hosts behind one address: each is reached by its name, and sees its client's own address.
func TestWebByName(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			r.webServers()
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}",
				r.interfacesAt(mode)))
			for range 5 {
				for i := range 2 {
					page, err := fetchByName(r.Clients[0], "www."+hostName(i))
					if err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(page, hostName(i)) {
						t.Errorf("www.%s answered %q", hostName(i), page)
					}
				}
			}
			page, err := fetchByName(r.Clients[0], "nobody.foo.example.", "-i")
			if err != nil || !strings.Contains(page, "421") {
				t.Errorf("a name that nobody has: %q, %v", page, err)
			}
			named := map[string]int{}
			for _, s := range d.sessions("--protocol", "tcp") {
				if s.Origin == "web" {
					named[s.Name]++
				}
			}
			for i := range 2 {
				if n := named["www."+hostName(i)]; n != 5 {
					t.Errorf("%d sessions by the name of %s, want 5: %v", n, hostName(i), named)
				}
			}
			if w := d.status().Web; w.Opened != 10 || w.Refused != 1 || w.Waiting != 0 || d.counted("drop_name_unknown") == 0 {
				t.Errorf("status is %+v", *w)
			}
		})
	}
}

// A request of several segments that comes as one, as between virtual machines: none of it has to be sent again by its client,
// as too long for the host's link.
func TestWebAggregates(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients = 1, 1
	r := newRealm(t, options)
	r.webServers()
	d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}"))
	for range 5 {
		page, err := fetchByName(r.Clients[0], "www."+hostName(0), "-H", "Long: "+strings.Repeat("long ", 1000))
		if err != nil || !strings.Contains(page, hostName(0)) {
			t.Errorf("%q, %v", page, err)
		}
	}
	if n := d.counted("drop_too_big"); n > 0 {
		t.Errorf("%d packets were too long", n)
	}
}
