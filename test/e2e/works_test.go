package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// worksPage is the page with the table.
const worksPage = "../../docs/reference/works-on.md"

// works is a kind of link with programs at both of its ends, and who translates between them.
type works struct {
	*realm
	host, client, server netns.Node
	outbound             netip.Addr                 // what the server sees
	published            func() (netip.Addr, error) // where the host's page is, on port 80
	known                peers
	public, private      string // the gateway's interfaces
	tunnels              int    // that WireGuard had
	dhcp                 dhcp
}

// link is a row of the table: how links are made, and which configuration serves them.
type link struct {
	name    string
	options netns.Options
	private string                            // the gateway's interface, where it is not eth1
	lay     func(w *works)                    // makes it
	change  func(configuration string) string // of what all others have
	again   func(w *works, d *daemon)         // what changes while it works; d is nil for the kernel
	old     bool                              // the kernel has no tcx
}

// worksLinks are the rows.
var worksLinks = []link{
	{name: "veth like a network card: offloads off, XDP", change: func(c string) string { return atXDP(c, "eth0", "eth1") }},
	{name: "veth as it is made: default offloads", options: defaultOffloads},
	{name: "the same in a kernel before 6.6, by clsact", options: defaultOffloads, old: true},
	{name: "bridge inside, its port with GRO", options: defaultOffloads, private: "br0", lay: (*works).bridgeInside},
	{name: "macvlan on both sides, GRO below", options: defaultOffloads, lay: (*works).macvlans},
	{name: "tap inside, with the offloads of a virtual machine", options: defaultOffloads, private: "tap0", lay: (*works).tapInside},
	{name: "tun outside, with aggregates", options: defaultOffloads, lay: (*works).tunOutside},
	{name: "tun inside, with aggregates", options: defaultOffloads, lay: (*works).tunInside},
	{name: "tun on both sides", options: defaultOffloads, lay: (*works).tuns},
	{name: "WireGuard on both sides", options: defaultOffloads, lay: (*works).wireGuards},
	{name: "one public address for all", options: defaultOffloads, lay: (*works).oneAddress, change: func(c string) string { return onOneAddress(c, "198.18.0.1") }},
	{name: "one public address by DHCP, which changes", options: defaultOffloads, lay: (*works).asked, again: (*works).leaseChanges,
		change: func(c string) string {
			return with(onOneAddress(c, "eth0"), `dns: {public: eth0, private: "10.0.0.1:53"}`)
		}},
}

// cell is a column of the table: a program that has to work. It calls fill before it sends as fast as it
// can: that waits until no other program asks by single packets, which a full link may lose.
type cell struct {
	name string
	try  func(ctx context.Context, w *works, fill func()) error
}

// worksCells are the columns.
var worksCells = []cell{
	{"curl out", curlOut},
	{"curl by name", curlByName},
	{"iperf3", iperfBothWays},
	{"dig", digOut},
	{"SIP", sipOut},
	{"passive FTP", ftpOut},
	{"QUIC", quicOut},
	{"ping, traceroute", pingOut},
	{"OpenVPN", openVPN},
	{"WireGuard", wireGuard},
}

// TestWorksOn is the table of docs/reference/works-on.md: every program works on every kind of
// link, with Realmgate and with the kernel's own NAT in the same place.
func TestWorksOn(t *testing.T) {
	t.Parallel()
	for _, l := range worksLinks {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.options.Hosts, l.options.Clients, l.options.Servers = 1, 1, 1
			r := newRealm(t, l.options)
			w := &works{realm: r, host: r.Hosts()[0], client: r.Clients[0], server: r.Servers[0], known: newPeers(t), public: "eth0", private: cmp.Or(l.private, "eth1")}
			if l.lay != nil {
				l.lay(w)
			}
			configuration := with(r.configuration(), fmt.Sprintf("interfaces: {public: [%s], private: [%s]}", w.public, w.private),
				fmt.Sprintf("events: [{name: file, file: %q}]", w.file("events")))
			if l.change != nil {
				configuration = l.change(configuration)
			}
			w.serve()
			d := r.prepare(r.Gateway, r.ID(), configuration)
			d.old = l.old
			d.run()
			w.outbound, w.published = r.Gateway.Outbound, func() (netip.Addr, error) { return lent(w.client, r.Gateway, "www."+hostName(0)) }
			w.tryAll("Realmgate")
			if l.again != nil {
				l.again(w, d)
				w.tryAll("Realmgate, changed")
			}
			if warnings := d.status().Warnings; len(warnings) > 0 {
				t.Errorf("there is something to do: %q", warnings)
			}
			if t.Failed() {
				text, _ := d.tell("status")
				t.Log(text)
			}
			d.stop()
			w.masquerade()
			w.tryAll("the kernel's NAT")
			if l.again != nil {
				l.again(w, nil)
				w.tryAll("the kernel's NAT, changed")
			}
		})
	}
}

// tryAll runs all programs at once: first what they ask by single packets, then what fills the link.
func (w *works) tryAll(who string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	failed := make([]error, len(worksCells))
	took := make([]time.Duration, len(worksCells))
	var running, asking sync.WaitGroup
	asking.Add(len(worksCells))
	for i, c := range worksCells {
		running.Go(func() {
			asked := sync.OnceFunc(asking.Done)
			defer asked()
			start := time.Now()
			failed[i] = c.try(ctx, w, func() { asked(); asking.Wait() })
			took[i] = time.Since(start).Round(10 * time.Millisecond)
		})
	}
	running.Wait()
	for i, c := range worksCells {
		if failed[i] != nil {
			w.t.Errorf("%s, %s: %v", who, c.name, failed[i])
		}
		w.t.Logf("%s, %s: %v", who, c.name, took[i])
	}
}

// masquerade has the gateway's kernel translate what leaves, and send port 80 to the host.
func (w *works) masquerade() {
	w.t.Helper()
	w.command("gateway", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	nft := w.Gateway.Command(w.t.Context(), "nft", "-f", "-")
	nft.Stdin = strings.NewReader(fmt.Sprintf(`table ip nat {
  chain out { type nat hook postrouting priority srcnat; oifname %[2]s masquerade; }
  chain in { type nat hook prerouting priority dstnat; iifname %[2]s tcp dport 80 dnat to %[1]s:8080; }
}`, w.host.IP, w.public))
	if out, err := nft.CombinedOutput(); err != nil {
		w.t.Fatalf("nft: %v: %s", err, out)
	}
	w.outbound, w.published = w.Gateway.PublicAddress, func() (netip.Addr, error) { return w.Gateway.PublicAddress, nil }
}

// The page says what the test tries, no more and no less.
func TestWorksOnPage(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| |")
	for _, c := range worksCells {
		table.WriteString(" " + c.name + " |")
	}
	table.WriteString("\n|" + strings.Repeat(" --- |", len(worksCells)+1) + "\n")
	for _, l := range worksLinks {
		table.WriteString("| " + l.name + " |" + strings.Repeat(" works |", len(worksCells)) + "\n")
	}
	text, err := os.ReadFile(worksPage)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("%s does not have the table of this test:\n%s", worksPage, table.String())
	}
}
