package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// dhcp is how the gateway's public interface has its address.
type dhcp struct{ server, client *netns.Command }

// askedByDHCP is the script of udhcpc: it sets what the lease says, of this namespace alone.
const askedByDHCP = `#!/bin/sh -e
case $1 in
deconfig) ip address flush dev "$interface" ;;
bound | renew)
  ip address replace "$ip/$mask" dev "$interface"
  ip route replace default via "$router"
  ;;
esac
`

// asked has the gateway ask for its public address, as at a home line.
func (w *works) asked() {
	w.t.Helper()
	w.command("gateway", "ip", "address", "flush", "dev", "eth0")
	w.must(os.WriteFile(w.file("asked"), []byte(askedByDHCP), 0o700)) //nolint:gosec // a program
	w.leases("198.18.0.40")
	w.dhcp.client = w.Gateway.Command(w.t.Context(), "udhcpc", "-f", "-i", "eth0", "-t", "20", "-T", "1", "-s", w.file("asked"))
	w.must(w.dhcp.client.Start())
	w.has("198.18.0.40")
}

// leases has the network's only lease be of an address from now on. Who renews another is refused.
func (w *works) leases(address string) {
	w.t.Helper()
	if w.dhcp.server != nil {
		w.must(w.dhcp.server.Process.Kill())
		_ = w.dhcp.server.Wait() // killed
	}
	w.dhcp.server = w.Router.Command(w.t.Context(), "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--pid-file=", "--port=0",
		"--interface=public0", "--bind-interfaces", "--dhcp-authoritative", "--no-ping", "--dhcp-leasefile="+w.file("leases."+address),
		fmt.Sprintf("--dhcp-range=%[1]s,%[1]s,255.255.255.0,2m", address))
	w.must(w.dhcp.server.Start())
	eventually(w.t, 10*time.Second, "dnsmasq listens", func() bool { return listens(netns.Node{Namespace: w.Router}, 67) == nil })
}

// has waits until the public interface has an address.
func (w *works) has(address string) {
	w.t.Helper()
	eventually(w.t, 20*time.Second, address+" is leased", func() bool {
		out, err := w.Gateway.Command(w.t.Context(), "ip", "-4", "-o", "address", "show", "dev", "eth0").Output()
		return err == nil && strings.Contains(string(out), " "+address+"/24 ")
	})
	w.Gateway.PublicAddress = netip.MustParseAddr(address)
	w.Gateway.Outbound = w.Gateway.PublicAddress
}

// leaseChanges renews the lease, which is refused: the next is of another address. A session stands by
// the old one; Realmgate ends it, and says so.
func (w *works) leaseChanges(d *daemon) {
	w.t.Helper()
	old := w.Gateway.PublicAddress
	next := old.Next()
	held, err := w.host.DialContext(w.t.Context(), "tcp4", netip.AddrPortFrom(w.server.IP, 8080).String())
	w.must(err)
	defer held.Close()
	w.leases(next.String())
	w.must(w.dhcp.client.Process.Signal(syscall.SIGUSR1)) // it is due
	w.has(next.String())
	w.outbound = next
	if d == nil {
		return
	}
	type change struct {
		Kind       string
		Came, Left []netip.Addr
		Ended      int
	}
	var left, came change
	eventually(w.t, 20*time.Second, "events tell of the old address and the new", func() bool {
		text, err := os.ReadFile(w.file("events"))
		w.must(err)
		for line := range strings.Lines(string(text)) {
			var c change
			w.must(json.Unmarshal([]byte(line), &c))
			if c.Kind == "outbound_changed" && len(c.Left) == 1 && c.Left[0] == old {
				left = c
			}
			if c.Kind == "outbound_changed" && len(c.Came) == 1 && c.Came[0] == next {
				came = c
			}
		}
		return came.Kind != ""
	})
	if left.Ended == 0 || !strings.Contains(d.logged(), "left="+old.String()) || !strings.Contains(d.logged(), "came="+next.String()) {
		w.t.Errorf("of the session by %s is said %+v, %+v, and in the log\n%s", old, left, came, d.logged())
	}
	if found := len(d.sessions("--address", old.String())); found > 0 {
		w.t.Errorf("%d sessions are at the old address", found)
	}
	eventually(w.t, 20*time.Second, "a name is answered at the new address", func() bool {
		address, err := w.published()
		return err == nil && address == next
	})
	if text, err := d.tell("status"); err != nil || !strings.Contains(text, next.String()+"  live") {
		w.t.Errorf("status says %v: %s", err, text)
	}
}
