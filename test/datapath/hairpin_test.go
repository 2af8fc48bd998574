package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/frames"
)

// A host inside asks for another by name and uses the address it would get
// outside.
func TestHairpinByReservation(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	to := endpoint(hostB, 8080)
	a := endpoint(outbound, inA.Port())
	g.dropped(g.put(tcp(inA, lent, packets.SYN)), "drop_no_binding")
	g.lend(pool1, 80, to, nil)
	g.leaves(g.put(tcp(inA, lent, packets.SYN)), tcp(a, to, packets.SYN))
	g.leaves(g.put(segment(to, a, synAck, hostISN, 1)), segment(lent, inA, synAck, hostISN, 1))
	g.leaves(g.put(proof(inA, lent)), proof(a, to))
	g.leaves(g.put(unreachable(hostB, 3, 0, tcp(a, to, packets.ACK), 8)), unreachable2(pool1, hostA, 3, tcp(inA, lent, packets.ACK), 8))
	for _, s := range g.sessions() {
		if !s.Hairpin || s.State != "established" {
			t.Errorf("%s: hairpin %v", s, s.Hairpin)
		}
	}
	// Nobody outside can speak for either end.
	g.dropped(g.fromOutside(outside(tcp(a, lent, packets.ACK))), "drop_spoofed_source")
	g.dropped(g.fromOutside(outside(tcp(lent, a, packets.ACK))), "drop_spoofed_source")
}

func TestHairpinToItself(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	a := endpoint(outbound, inA.Port())
	g.leaves(g.put(tcp(inA, lent, packets.SYN)), tcp(a, service, packets.SYN))
	g.leaves(g.put(tcp(service, a, synAck)), tcp(lent, inA, synAck))
}

func TestHairpinFiltered(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.mapped(udp(inB, server))
	g.dropped(g.put(udp(inA, b)), "drop_filtered")
	a := endpoint(outbound, inA.Port())
	g.leaves(g.put(udp(inB, a)), udp(b, inA)) // inA has asked for b
	g.leaves(g.put(udp(inA, b)), udp(a, inB))
	g.dropped(g.put(udp(inA, endpoint(outbound, 9))), "drop_no_mapping")
}

// Errors that the gateway makes about a hairpin reach the sender as of its own
// packet.
func TestHairpinErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	b := g.mapped(udp(inB, server))
	p := ttl1(udp(inA, b))
	g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
	g.leaves(g.put(udp(inA, b)), udp(endpoint(outbound, inA.Port()), inB))
	g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)

	g.in(func() error { return setMTU("eth1", 1300) })
	g.data.RoutesChanged()
	p = big(inA, b, 1301, true)
	r := g.put(p)
	same(g, "reason", r.reason, "drop_too_big")
	want := unreachable(privateAddress, fragmentationNeeded, 1300, p, 8).Between(r.packet.Ethernet.Source, packets.HostMAC)
	want.IPv4.TOS = 0xc0
	want.IPv4.TTL--
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		t.Fatal(diff)
	}
}

// On an address that the gateway shares, a hairpin never ends in its own stack.
func TestHairpinOnASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared, filtering(model.EndpointIndependent))
	in := endpoint(hostB, 5000)
	b := g.mapped(udp(in, server))
	a := g.mapped(udp(endpoint(hostA, 5001), server))
	g.leaves(g.put(udp(endpoint(hostA, 5001), b)), udp(a, in))
	p := udp(endpoint(hostA, 5001), endpoint(outbound, 53))
	g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
}
