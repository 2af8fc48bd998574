package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A host that is told that its packets are too long, and cannot hear it, is named with the link and what mends it; one that
// hears is not.
func TestBlackHoleIsNamed(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Servers: 1})
	r.command("gateway", "ip", "link", "set", "eth0", "mtu", "1300")
	deaf, hears, server := r.Hosts()[0], r.Hosts()[1], r.Servers[0]
	r.filter(deaf, `table ip deaf {
  chain in { type filter hook input priority filter; icmp type destination-unreachable drop; }
}`)
	d := r.start(r.configuration())
	for _, from := range []netns.Node{deaf, hears} {
		if err := ping(from, server.IP); err != nil { // whereby the neighbour is known
			t.Fatal(err)
		}
		pings := from.Command(t.Context(), "ping", "-i", "0.2", "-M", "do", "-s", "1400", server.IP.String())
		if err := pings.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pings.Process.Kill(); _ = pings.Wait() })
	}
	eventually(t, 30*time.Second, "the link is named", func() bool { return d.warning("eth0 carries 1300 octets") != "" })
	if line := d.warning("eth0"); !strings.Contains(line, "1 of them, as icmp "+deaf.IP.String()) || !strings.HasSuffix(line, "ip link set dev INTERFACE mtu 1300") {
		t.Errorf("it says %q", line)
	}
}
