package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// isReset waits for an RST, twice as long as the gateway waits for a host.
func isReset(c net.Conn) error {
	_ = c.SetReadDeadline(time.Now().Add(6 * time.Second))
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("%d octets and no RST: %w", n, err)
	}
	return nil
}

// readsNames waits until a client's SYN is answered: a daemon that has just begun serves a moment before it reads names. The
// client says nothing until the test ends: what ends without a name is counted.
func readsNames(t *testing.T, from netns.Node) {
	t.Helper()
	eventually(t, 10*time.Second, "names are read", func() bool {
		c, err := visits(from, "")
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return err == nil
	})
}

// filtersPort has a node's kernel do so with what comes to a port.
func (r *realm) filtersPort(at netns.Node, port int, verdict string) {
	r.t.Helper()
	r.filter(at, fmt.Sprintf("table ip silent {\n chain in { type filter hook input priority filter; tcp dport %d %s; }\n}", port, verdict))
}

// filter has nft read rules on a node.
func (r *realm) filter(at netns.Node, rules string) {
	r.t.Helper()
	nft := at.Command(r.t.Context(), "nft", "-f", "-")
	nft.Stdin = strings.NewReader(rules)
	if out, err := nft.CombinedOutput(); err != nil {
		r.t.Fatalf("nft: %v: %s", err, out)
	}
}

// A client hears an RST: at once of a host that refuses its port, by RST or by ICMP, after three seconds of one that is silent,
// and of one that is not there. Until then others are served at the same address. A host that serves again is asked again.
func TestWebHostRefuses(t *testing.T) {
	t.Parallel()
	const serves, refuses, silent, prohibits, away = 0, 1, 2, 3, 4
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: away, Clients: 1})
			client, hosts := r.Clients[0], r.Hosts()
			webServer(t, hosts[serves], 8080, hostName(serves))
			r.filtersPort(hosts[silent], 8080, "drop")
			r.filtersPort(hosts[prohibits], 8080, "reject with icmp type admin-prohibited")
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}",
				r.interfacesAt(mode)) +
				hostEntry(away, hosts[prohibits].IP.Next()))
			readsNames(t, client)
			began, ends := time.Now(), map[int]chan error{silent: make(chan error, 1), away: make(chan error, 1)}
			for host, end := range ends {
				c, err := visits(client, webRequest(host))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				go func() { end <- isReset(c) }()
			}
			for _, host := range []int{refuses, prohibits} {
				c, err := visits(client, webRequest(host))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := isReset(c); err != nil {
					t.Errorf("%s, which refuses: %v", hostName(host), err)
				}
			}
			if _, err := timed(client, serves); err != nil {
				t.Errorf("beside them: %v", err)
			}
			t.Logf("refused and served after %v", time.Since(began).Round(time.Millisecond))
			select {
			case err := <-ends[silent]:
				t.Fatalf("a silent host's client waited no longer than these: %v", err)
			default:
			}
			if n := d.counted("drop_host_refused"); n == 0 {
				t.Error("who refuses is not counted")
			}
			for host, end := range ends {
				if err := <-end; err != nil {
					t.Errorf("%s: %v", hostName(host), err)
				}
				t.Logf("%s was waited for %v", hostName(host), time.Since(began).Round(time.Millisecond))
			}
			eventually(t, 5*time.Second, "each of them is counted", func() bool { return d.counted("drop_host_refused") >= 4 })
			if w := d.status().Web; w.Refused != 4 || w.Opened != 1 || w.Waiting != 0 {
				t.Errorf("status is %+v", *w)
			}
			webServer(t, hosts[refuses], 8080, hostName(refuses))
			if _, err := timed(client, refuses); err != nil {
				t.Errorf("it serves now: %v", err)
			}
		})
	}
}
