package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// An interface that adds all octets up puts the sum beside the frame (CHECKSUM_COMPLETE). What
// is translated keeps it right, or the host that gets the packet finds its sum wrong; the kernel
// compares the two behind the program.
func TestCompleteSums(t *testing.T) {
	t.Parallel()
	g := newGateway(t, links(1300, 1500), filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.leaves(g.put(tcp(inA, web, packets.SYN)), tcp(endpoint(outbound, inA.Port()), web, packets.SYN))
	moved := g.mapped(udp(endpoint(hostB, inA.Port()), server2)) // whose port is taken
	none := func(p packets.Packet) packets.Packet {
		return p.Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero })
	}
	for name, p := range map[string]packets.Packet{
		"UDP out":                  udp(inA, server),
		"UDP in":                   udp(server, out),
		"an odd payload":           packets.NewUDP(inA, server, "odd"),
		"to another port":          udp(endpoint(hostB, inA.Port()), server2),
		"from another port":        udp(server2, moved),
		"UDP without a sum, out":   none(udp(endpoint(hostB, inA.Port()), server2)),
		"UDP without a sum, in":    none(udp(server2, moved)),
		"TCP out":                  tcp(inA, web, packets.ACK),
		"TCP in":                   tcp(web, endpoint(outbound, inA.Port()), packets.ACK),
		"a SYN whose MSS is cut":   tcp(endpoint(hostA, 41000), web, packets.SYN).Change(func(p *packets.Packet) { p.TCP.Options = []byte{2, 4, 5, 180} }),
		"echo":                     echo(hostA, remote, 7),
		"an error about a packet":  unreachable(hop, 1, 0, udp(moved, server2), 8),
		"an error about a segment": unreachable(hop, 1, 0, tcp(endpoint(outbound, inA.Port()), web, packets.ACK), 20),
		"a hairpin":                udp(endpoint(hostB, 42000), out),
		"IP options":               udp(inA, server).Change(withOptions(otherOptions["router alert"])),
	} {
		before := g.counters()["forwarded"]
		framed := addressed(p)
		public := !realm.Contains(p.IPv4.Source)
		var action dataplane.Action
		g.in(func() (err error) {
			action, _, err = dataplane.Inject(g.data, dataplane.Injected{
				Frame: datapath.Frame{Public: public, Ifindex: either(public, g.public, g.private), Octets: framed.Bytes()}, Mode: datapath.TCX, Complete: true,
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
