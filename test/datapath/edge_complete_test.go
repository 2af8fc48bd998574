package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// The sum of all octets that an interface puts beside a frame stays right with a header in front: see TestCompleteSums.
func TestEdgeOutOfCompleteSums(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to := endpoint(proxyA, 80)
	g.sends(g.put(tcp(inA, to, packets.SYN)), tagged(tcp(inA, to, packets.SYN), a))
	piece := divided(filled(udp(inA, to), 2000), 9, 1200)
	for name, p := range map[string]packets.Packet{
		"UDP":               udp(inA, to),
		"an odd payload":    packets.NewUDP(inA, to, "odd"),
		"UDP without a sum": udp(inA, to).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }),
		"TCP":               tcp(inA, to, packets.ACK),
		"a SYN, cut":        withTCP(tcp(endpoint(hostA, 41000), to, packets.SYN), mss(1460)),
		"echo":              echo(hostA, proxyA, 7),
		"an error":          packets.NewICMPError(hostA, proxyA, packets.DestinationUnreachable, portUnreachable, 0, udp(to, inA), 8),
		"IP options":        udp(inA, to).Change(withOptions(otherOptions["router alert"])),
		"a first fragment":  piece[0],
		"a later one":       piece[1],
	} {
		before := g.counters()["forwarded"]
		var action dataplane.Action
		g.in(func() (err error) {
			action, _, err = dataplane.Inject(g.data, dataplane.Injected{
				Frame: datapath.Frame{Ifindex: g.private, Octets: addressed(p).Bytes()}, Mode: datapath.TCX, Complete: true,
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		})
		if action != dataplane.Redirect || g.counters()["forwarded"] == before {
			t.Errorf("%s: %s, %s", name, p, action)
		}
	}
}
