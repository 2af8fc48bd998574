package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// The sum of all octets that an interface puts beside a frame stays right with a header in front: see TestCompleteSums.
func TestEdgeCompleteSums(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to, client := endpoint(proxyA, 80), endpoint(proxyA, 42000)
	own, port := endpoint(hostA, 8080), endpoint(hostA, 80)
	g.sends(g.put(tcp(inA, to, packets.SYN)), tagged(tcp(inA, to, packets.SYN), a))
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
	g.sends(g.put(udp(inA, to)), tagged(udp(inA, to), a)) // has its answers
	none := func(p packets.Packet) packets.Packet {
		return p.Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero })
	}
	out, in := divided(filled(udp(inA, to), 2000), 9, 1200), divided(filled(udp(to, inA), 2000), 9, 1200)
	list := map[string]packets.Packet{
		"UDP":                  udp(inA, to),
		"an odd payload":       packets.NewUDP(inA, to, "odd"),
		"UDP without a sum":    none(udp(inA, to)),
		"TCP":                  tcp(inA, to, packets.ACK),
		"a SYN, cut":           withTCP(tcp(endpoint(hostA, 41000), to, packets.SYN), mss(1460)),
		"from a service":       tcp(own, client, synAck),
		"echo":                 echo(hostA, proxyA, 7),
		"an error":             packets.NewICMPError(hostA, proxyA, packets.DestinationUnreachable, portUnreachable, 0, udp(to, inA), 8),
		"IP options":           udp(inA, to).Change(withOptions(otherOptions["router alert"])),
		"a first fragment":     out[0],
		"a later one":          out[1],
		"UDP in":               udp(to, inA),
		"an odd payload in":    packets.NewUDP(to, inA, "odd"),
		"UDP without a sum in": none(udp(to, inA)),
		"TCP in":               tcp(to, inA, synAck),
		"to a service":         tcp(client, port, packets.ACK),
		"a SYN in, cut":        withTCP(tcp(endpoint(proxyA, 42001), port, packets.SYN), mss(1460)),
		"echo in":              echo(proxyA, hostA, 7),
		"an error in":          packets.NewICMPError(proxyA, hostA, packets.DestinationUnreachable, portUnreachable, 0, tagged(tcp(port, client, packets.ACK), a), 20),
		"IP options in":        udp(to, inA).Change(withOptions(otherOptions["router alert"])),
		"a first fragment in":  in[0],
		"a later one in":       in[1],
	}
	for name, make := range basics {
		list[name], list[name+" in"] = make(hostA, proxyA), make(proxyA, hostA)
		g.sends(g.put(list[name]), make(tag(a.Own), tag(a.Peer))) // has opened it
		r := g.send(true, inTunnel(tunnel.Encapsulate(theirs(), make(tag(a.Peer), tag(a.Own)).Network())))
		g.leaves(r, list[name+" in"])
	}
	for name, p := range list {
		framed, public := addressed(p).Bytes(), p.IPv4.Source == proxyA
		if public {
			framed = inTunnel(tunnel.Encapsulate(theirs(), returned(p, a).Network()))
		}
		before := g.counters()["forwarded"]
		var action dataplane.Action
		g.in(func() (err error) {
			action, _, err = dataplane.Inject(g.data, dataplane.Injected{
				Frame: datapath.Frame{Public: public, Ifindex: either(public, g.public, g.private), Octets: framed}, Mode: datapath.TCX, Complete: true,
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
