package e2e

import (
	"strings"
	"testing"
)

// Paths that carry 1,492 octets and tell nobody: what is longer is lost in silence. SYNs say what fits, so that
// downloads and uploads complete, by whichever link and way. What lies behind the uplink is told by the configuration.
func TestNarrowPathsWithoutICMP(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcde\n", 1<<16)
	for name, c := range map[string]struct {
		at     string
		narrow []string
		mss    string
	}{
		"the public link":   {"gateway", []string{"eth0"}, "mss: auto"},
		"the private link":  {"gateway", []string{"eth1"}, "mss: auto"},
		"behind the uplink": {"router", []string{"server1", "server2"}, "mss: 1452"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := defaultOffloads
			options.Hosts, options.Servers = 1, 2
			r := newRealm(t, options)
			for _, link := range c.narrow { // its other end goes on to send 1,500 octets
				r.command(c.at, "ip", "link", "set", link, "mtu", "1492")
			}
			host, server, remote := r.Hosts()[0], r.Servers[0], r.Servers[1]
			webServer(t, server, 8080, large)
			webServer(t, host, 8080, large)
			d := r.start(with(r.configuration(), c.mss))
			said, err := d.tell("explain", host.IP.String(), "--to", server.IP.String(), "--protocol", "tcp", "--port", "8080")
			if err != nil || !strings.Contains(said, "SYNs of both ends say at most 1452 octets") {
				t.Errorf("explain: %v: %s", err, said)
			}
			address := r.mustLend(remote, "www."+hostName(0))
			for what, fetch := range map[string]func(more ...string) (string, error){
				"out":     func(more ...string) (string, error) { return curl(host, server.IP, 8080, more...) },
				"by name": func(more ...string) (string, error) { return curl(remote, address, 80, more...) },
			} {
				page, err := fetch()
				if err != nil || strings.TrimSpace(page) != strings.TrimSpace(large) {
					t.Errorf("download, %s: %d octets of %d, %.200v", what, len(page), len(large), err)
				}
				if page, err := fetch("--data-binary", "@"+program); err != nil {
					t.Errorf("upload, %s: %q, %v", what, page, err)
				}
			}
		})
	}
}
