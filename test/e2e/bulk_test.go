package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab"
)

// Bulk TCP with default offloads, from hosts behind a bridge whose ports have GRO, in turns
// with the kernel's own NAT in the same place. It measures, and runs where REALMGATE_SLOW is set.
func TestBulkBesideTheKernel(t *testing.T) {
	if !slow() {
		return
	}
	const rounds = 5
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	host, server, client := r.Hosts()[0], r.Servers[0], r.Clients[0]
	iperfServer(t, server, 5201)
	iperfServer(t, host, 5201)
	configuration := strings.Replace(r.configuration(), "open: [icmp]", "open: all", 1)
	measured := map[string]map[string][]float64{} // Gbit/s, by transfer and by who translates
	turn := func(who string, public func() netip.Addr) {
		for _, way := range []string{"out", "in"} {
			for _, flags := range []string{"-P 1", "-P 1 -R", "-P 4", "-P 4 -R"} {
				from, to := host, server.IP
				if way == "in" {
					from, to = client, public()
				}
				done, err := iperf(from, to, 5201, append(strings.Fields(flags), "-t", "2")...)
				if err != nil {
					t.Fatalf("%s, %s %s: %v", who, way, flags, err)
				}
				what := way + " " + flags
				if measured[what] == nil {
					measured[what] = map[string][]float64{}
				}
				measured[what][who] = append(measured[what][who], done.End.Received.Bytes*8/2e9)
			}
		}
	}
	for range rounds {
		d := r.start(configuration)
		turn("realmgate", func() netip.Addr { return r.mustLend(client, "perf."+hostName(0)) })
		d.stop()
		r.kernelNAT(host)
		turn("kernel", func() netip.Addr { return r.Gateway.PublicAddress })
		r.command("gateway", "nft", "flush", "ruleset")
	}
	for _, what := range slices.Sorted(maps.Keys(measured)) {
		ours, theirs := spread(measured[what]["realmgate"]), spread(measured[what]["kernel"])
		t.Logf("%-12s realmgate %5.2f (%5.2f-%5.2f)  kernel %5.2f (%5.2f-%5.2f)  %.2f", what,
			ours[1], ours[0], ours[2], theirs[1], theirs[0], theirs[2], ours[1]/theirs[1])
	}
}

// kernelNAT has the gateway's kernel translate what leaves, and send port 5201 to a host.
func (r *realm) kernelNAT(host lab.Node) {
	r.t.Helper()
	r.command("gateway", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	rules := fmt.Sprintf(`table ip nat {
  chain out { type nat hook postrouting priority srcnat; oifname eth0 masquerade; }
  chain in { type nat hook prerouting priority dstnat; iifname eth0 tcp dport 5201 dnat to %s; }
}`, host.IP)
	nft := r.Gateway.Command(context.Background(), "nft", "-f", "-")
	nft.Stdin = strings.NewReader(rules)
	if out, err := nft.CombinedOutput(); err != nil {
		r.t.Fatalf("nft: %v: %s", err, out)
	}
}

// spread is the least, the median and the most.
func spread(values []float64) [3]float64 {
	sorted := slices.Sorted(slices.Values(values))
	return [3]float64{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}
