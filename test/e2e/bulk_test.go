package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// bulkPairs is how many transfers of a kind each has, one after the other's.
const bulkPairs = 11

// bulkLeast is the share of the kernel's throughput that is aimed at.
const bulkLeast = 0.9

// Bulk TCP with default offloads, from a container and from behind a bridge whose port has GRO,
// beside the kernel's own NAT in a twin of the same network: in pairs, in turns. It fails where every pair is below
// nine tenths of the kernel's.
func TestBulkBesideTheKernel(t *testing.T) {
	lab.LengthyOnly(t)
	for _, c := range []struct {
		name, private string
		lay           func(*realm)
	}{
		{"veth", "eth1", func(*realm) {}},
		{"bridge", "br0", (*realm).bridgeInside},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours, theirs := newBulk(t, c.lay), newBulk(t, c.lay)
			ours.start(with(strings.Replace(ours.configuration(), "open: [icmp]", "open: all", 1),
				fmt.Sprintf("interfaces: {public: [eth0], private: [%s]}", c.private)))
			theirs.kernelNAT(theirs.Hosts()[0])
			lend := func() netip.Addr { return ours.mustLend(ours.Clients[0], "perf."+hostName(0)) }
			port := func() netip.Addr { return theirs.Gateway.PublicAddress }
			for _, way := range []string{"out", "in"} {
				for _, flags := range []string{"-P 1", "-P 1 -R", "-P 4", "-P 4 -R"} {
					var pairs [3][]float64 // Gbit/s of ours and of the kernel's, and the ratio
					for i := range bulkPairs {
						var pair [2]float64
						for turn := range 2 {
							if who := (i + turn) % 2; who == 0 {
								pair[0] = ours.gbits(way, flags, lend)
							} else {
								pair[1] = theirs.gbits(way, flags, port)
							}
						}
						t.Logf("pair %s %s: %.2f %.2f", way, flags, pair[0], pair[1])
						for j, v := range []float64{pair[0], pair[1], pair[0] / pair[1]} {
							pairs[j] = append(pairs[j], v)
						}
					}
					r, k, ratio := spread(pairs[0]), spread(pairs[1]), spread(pairs[2])
					t.Logf("%-6s %-3s %-7s realmgate %5.2f (%5.2f-%5.2f)  kernel %5.2f (%5.2f-%5.2f)  ratio of pairs %.2f (%.2f-%.2f)", c.name, way, flags,
						r[1], r[0], r[2], k[1], k[0], k[2], ratio[1], ratio[0], ratio[2])
					if ratio[2] < bulkLeast {
						t.Errorf("%s %s %s: each of %d pairs is below %.2f of the kernel's", c.name, way, flags, bulkPairs, bulkLeast)
					}
				}
			}
		})
	}
}

// newBulk lays a network with an iperf3 at the host and at the server.
func newBulk(t *testing.T, lay func(*realm)) *realm {
	t.Helper()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	lay(r)
	iperfServer(t, r.Servers[0], 5201)
	iperfServer(t, r.Hosts()[0], 5201)
	return r
}

// gbits is what a transfer of a second makes, out of the host or in to where it is published.
func (r *realm) gbits(way, flags string, published func() netip.Addr) float64 {
	r.t.Helper()
	from, to := r.Hosts()[0], r.Servers[0].IP
	if way == "in" {
		from, to = r.Clients[0], published()
	}
	var done transfer
	err := until(r.t.Context(), func() (err error) { // its server may still be at the end of the test before
		done, err = iperf(from, to, 5201, append(strings.Fields(flags), "-t", "1")...)
		if err != nil && !strings.Contains(err.Error(), "busy") {
			r.t.Fatalf("%s %s: %v", way, flags, err)
		}
		return err
	})
	if err != nil {
		r.t.Fatalf("%s %s: %v", way, flags, err)
	}
	return done.End.Received.Bytes * 8 / 1e9
}

// kernelNAT has the gateway's kernel translate what leaves, and send port 5201 to a host.
func (r *realm) kernelNAT(host netns.Node) {
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
