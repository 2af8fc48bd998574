package e2e

import (
	"context"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// counts are numbers of packets and bytes, which traffic changes.
var counts = regexp.MustCompile(`\[\d+:\d+\]|packets \d+ bytes \d+|(?m)^# .*$`)

// own are the address of the gateway's own interface (docs/reference/dataplane.md) and its route, which stand while it works.
var own = regexp.MustCompile(`(?m)^(\d+: rgfrag0p +inet 192\.0\.0\.8/32 scope host rgfrag0p\b.*|local 192\.0\.0\.8 dev rgfrag0p table local .*)\n`)

// foreign is what others have in the gateway's namespace, by the command that shows it.
func foreign(t *testing.T, n *netns.Gateway) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, line := range []string{
		"nft -s list ruleset", "iptables-save", "ip6tables-save", "ipset save", "ip rule show", "ip -6 rule show", "ip route show table all",
		"ip -6 route show table all", "ip neighbour show nud permanent", "ip -o address show", "sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.ipv4.tcp_syncookies",
	} {
		words := strings.Fields(line)
		out, err := n.Command(context.Background(), words[0], words[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		found[line] = counts.ReplaceAllString(string(out), "")
	}
	return found
}

// TestGeofenceDefect10_ForeignRulesAreUntouched: firewall rules, sets, routes and switches
// that others have made on the gateway are the same during and after a start, reloads, bans,
// a kill, and a stop; and only our own settings return.
func TestGeofenceDefect10_ForeignRulesAreUntouched(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2, RemoteClients: 1, IPv6: true})
	r.echoServers()
	for _, line := range []string{
		"nft add table inet other", "nft add chain inet other in { type filter hook input priority 0 ; policy accept ; }",
		"nft add rule inet other in tcp dport 8443 drop", "iptables -A INPUT -p tcp --dport 8444 -j DROP", "iptables -N fail2ban",
		"iptables -A fail2ban -s 203.0.113.1 -j DROP", "iptables -t nat -A POSTROUTING -s 192.168.7.0/24 -j MASQUERADE",
		"iptables -t mangle -A PREROUTING -s 203.0.113.2 -j MARK --set-mark 1000", "ip6tables -A INPUT -s 2001:db8:66::/48 -j DROP",
		"ipset create others hash:net", "ipset add others 203.0.113.0/28", "ip rule add from 192.168.7.0/24 table 77 priority 700",
		"ip route add 192.168.7.0/24 dev eth1", "ip route add unreachable 203.0.113.64/26 table 77", "ip neighbour add 10.0.0.250 lladdr 02:00:00:00:00:fa dev eth1 nud permanent",
	} {
		words := strings.Fields(line)
		if out, err := r.Gateway.Command(context.Background(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	const afterStop = "after the stop" // then nothing is the gateway's
	settings, before := hostSettings(t, r.Gateway), foreign(t, r.Gateway)
	same := func(when string) {
		t.Helper()
		for command, after := range foreign(t, r.Gateway) {
			if when != afterStop {
				after = own.ReplaceAllString(after, "")
			}
			if after != before[command] {
				t.Errorf("%s %s shows\n%s\nand before\n%s", when, command, after, before[command])
			}
		}
	}
	journalPath := filepath.Join(r.directory, "auth.log")
	places(t, filepath.Join(r.directory, "geo.table"), map[string]string{"77.0.0.1": "FI"})
	protection := "jails:\n" + jail("ssh", journalPath, ", maxretry: 1") + "protection:\n  geo_table: geo.table\n  blocklist: [203.0.113.0/24]\n" +
		"  honeypot: {tcp: [23]}\n  geofence: [{deny: [country:KP], unknown: allow}]\n"
	d := r.start(with(r.configuration(), "ipv6: forward") + protection)
	same("after the start")
	j := journal{d, journalPath}.watched()
	j.write(guessed("root", r.Clients[0].IP))
	j.mustBecomeBanned(r.Clients[0].IP)
	if err := connects(r.Clients[1], netip.AddrPortFrom(r.Gateway.PublicAddress, 23)); err != nil {
		t.Fatal(err)
	}
	j.mustBecomeBanned(r.Clients[1].IP)
	r.mustReach(r.RemoteClients[0], 0)
	same("after bans")
	d.write(strings.Replace(with(r.configuration(), "ipv6: forward")+protection, "203.0.113.0/24", "198.51.100.7", 1))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	same("after a reload")
	d.kill()
	same("after a kill")
	d.run()
	same("under the next daemon")
	d.stop()
	same(afterStop)
	if after := hostSettings(t, r.Gateway); !maps.Equal(settings, after) {
		t.Errorf("settings after the stop:\n%v\nbefore the start:\n%v", after, settings)
	}
	eventually(t, 10*time.Second, "nothing is attached", func() bool { return len(attached(t, r.Gateway)) == 0 })
	if _, err := os.Lstat(filepath.Join(pins, d.instance)); err == nil {
		t.Error("pins are left")
	}
}
