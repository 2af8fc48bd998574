package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// What the daemon sends again comes in by the interface by which it came: the kernel's own rules, which let through what comes in by
// that, let it through where the kernel has to find the host's link address.
func TestWebAgainByItsInterface(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			r.webServers()
			out, in := r.Gateway.Public[0], r.Gateway.Private[0]
			r.filter(netns.Node{Namespace: r.Gateway.Namespace}, "table ip guard {\n counter refused { }\n chain forward { type filter hook forward priority filter; policy drop;"+
				" iifname { "+out+", "+in+" } oifname { "+out+", "+in+" } accept; counter name refused; }\n}")
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}", r.interfacesAt(mode)))
			readsNames(t, r.Clients[0])
			before := d.counted("forwarded_no_neighbour")
			for range 5 {
				r.command("gateway", "ip", "neigh", "flush", "dev", in)
				if page, err := fetchByName(r.Clients[0], "www."+hostName(0)); err != nil || !strings.Contains(page, hostName(0)) {
					t.Errorf("the page is %q: %v", page, err)
				}
			}
			refused, err := r.Gateway.Command(t.Context(), "nft", "list", "counter", "ip", "guard", "refused").CombinedOutput()
			if err != nil || !strings.Contains(string(refused), "packets 0 ") {
				t.Errorf("came in by another interface: %s, %v", refused, err)
			}
			if d.counted("forwarded_no_neighbour") == before {
				t.Error("the kernel was never to find the host's link address")
			}
		})
	}
}

// A program is asked about what comes by a web name: from outside and from inside, and both ends of what it denies are reset.
func TestWebIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			r.webServers()
			socket := filepath.Join(t.TempDir(), "by-path")
			r.asked(socket, "../../examples/ask/by_http_path.py", "/admin")
			name := "www." + hostName(0)
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}", r.interfacesAt(mode)) +
				"chains: [{name: web, match: {service: " + name + "}, functions: [{use: ask, socket: " + socket + ", first: bytes}]}]\n")
			d.hasPrograms(1)
			readsNames(t, r.Clients[0])
			for _, from := range []netns.Node{r.Clients[0], r.Hosts()[1], r.Hosts()[0]} {
				before := counter(t, from, "TCPTimeouts")
				if page, err := fetchByName(from, name); err != nil || !strings.Contains(page, hostName(0)) {
					t.Errorf("for %s the page is %q: %v", from.Name(), page, err)
				}
				if page, err := fetchByName(from, name, "--request-target", "/admin"); err == nil || !strings.Contains(err.Error(), "reset") {
					t.Errorf("for %s what is denied is %q, %v: want a reset", from.Name(), page, err)
				}
				if again := counter(t, from, "TCPTimeouts") - before; again > 1 {
					t.Errorf("%s had to send again %d times", from.Name(), again)
				}
			}
			if spoofed := d.counted("drop_spoofed_source"); spoofed > 0 {
				t.Errorf("%d frames of hairpins were taken for spoofed ones", spoofed)
			}
		})
	}
}
