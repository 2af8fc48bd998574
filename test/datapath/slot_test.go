package datapath

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// nth is one of many outbound addresses.
func nth(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(100 + n)}) }

func (g *gateway) outbounds(addresses ...netip.Addr) (change datapath.OutboundChange) {
	g.t.Helper()
	g.in(func() (err error) {
		change, err = g.data.SetOutbound(addresses)
		return err
	})
	return change
}

// slots says it in one line.
func (g *gateway) slots() string {
	g.t.Helper()
	text := ""
	for _, s := range must(g.data.Slots())(g.t) {
		if s.Address.IsValid() {
			text += fmt.Sprintf("%d %s %s, ", s.Number, s.Address, s.State)
		}
	}
	return text
}

func (g *gateway) arp(a netip.Addr) model.Reason {
	g.t.Helper()
	return g.send(true, packets.NewARPRequest(packets.RouterMAC, router, a).Bytes()).reason
}

// nat-complete.md 0.3: after a change of the public address new sessions still came from the old one, and ARP for it was
// still answered.
func TestOutboundAddressChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	web := endpoint(remote, 80)
	first := g.mapped(udp(inA, server))
	conn := g.connected(inA, web)
	same(g, "ARP", g.arp(outbound), "answered_arp")
	change := g.outbounds(nth(1))
	same(g, "what came", fmt.Sprint(change.Came), fmt.Sprint([]netip.Addr{nth(1)}))
	same(g, "what left", fmt.Sprint(change.Left), fmt.Sprint([]netip.Addr{outbound}))
	same(g, "sessions ended", change.Ended, 2)
	g.count(0)
	same(g, "ARP for the old one", g.arp(outbound), "to_gateway")
	same(g, "ARP for the new one", g.arp(nth(1)), "answered_arp")
	g.dropped(g.put(udp(server, first)), "drop_not_for_us")
	g.dropped(g.put(tcp(web, conn, packets.ACK)), "drop_not_for_us")
	same(g, "the host's next datagram", g.mapped(udp(inA, server)), endpoint(nth(1), inA.Port()))
	g.leaves(g.put(udp(server, endpoint(nth(1), inA.Port()))), udp(server, inA))
	same(g, "the host's next connection", g.mapped(tcp(inA, web, packets.SYN)), endpoint(nth(1), inA.Port()))
	same(g, "slots", g.slots(), "0 198.18.0.2 gone, 1 198.18.0.101 live, ")
	g.census()
}

// A host that goes on with a connection that has ended is told, by the numbers that it expects.
func TestOutboundAddressLeavesAndHostsAreTold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	web := endpoint(remote, 80)
	g.connected(inA, web)
	segment := packets.NewTCP(inA, web, packets.ACK|packets.PSH, "more")
	segment.TCP.Sequence, segment.TCP.Acknowledge = 1_000_001, 2_000_001
	g.dropped(g.put(tcp(inB, web, packets.ACK)), "drop_not_syn") // as long as nothing has left
	g.outbounds(nth(1))
	g.reset(g.put(segment), segment, "drop_not_syn")
	g.count(0)
}

// With no address left hosts are told so, and go on with the next.
func TestOutboundAddressMissing(t *testing.T) {
	t.Parallel()
	for name, first := range map[string][]netip.Addr{"at the start": nil, "later": {outbound}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, outboundAddresses(first...))
			g.outbounds()
			for _, p := range []packets.Packet{udp(inA, server), tcp(inA, server, packets.SYN), packets.NewEcho(hostA, remote, 7, 1)} {
				g.refused(g.put(p), p, "drop_no_address", privateAddress, packets.DestinationUnreachable, 1, 0)
			}
			g.count(0)
			for n := range 3 {
				g.outbounds(nth(n))
				same(g, "endpoint", g.mapped(udp(inA, server)), endpoint(nth(n), inA.Port()))
				g.leaves(g.put(udp(server, endpoint(nth(n), inA.Port()))), udp(server, inA))
				g.outbounds()
			}
			g.census()
		})
	}
}

// RFC 4787 REQ-2 holds while addresses come: hosts with mappings stay, others are spread over all.
func TestOutboundAddressComes(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for n := range 100 {
		g.mapped(udp(endpoint(host(n), 5000), server))
	}
	g.outbounds(outbound, nth(1))
	for n := range 100 {
		same(g, "address of "+host(n).String(), g.mapped(udp(endpoint(host(n), 5001), server)).Addr(), outbound)
	}
	has := map[netip.Addr]int{}
	for n := 100; n < 300; n++ {
		a := g.mapped(udp(endpoint(host(n), 5000), server)).Addr()
		has[a]++
		same(g, "address of "+host(n).String(), g.mapped(udp(endpoint(host(n), 5001), server)).Addr(), a)
	}
	if has[nth(1)] < 60 || has[outbound] < 60 {
		t.Errorf("200 new hosts are spread as %v", has)
	}
	// What is idle by now may go to the address that has fewer.
	must(g.data.EndAll())(t)
	g.in(func() error { return g.data.TendSlots() })
	g.census()
}

// Ports that rest belong to their hosts, also when the address comes back; another one gets a slot that is empty, and that
// of the last only when there is no other.
func TestOutboundAddressReturns(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.outbounds(nth(1))
	same(g, "slots", g.slots(), "0 198.18.0.2 draining, 1 198.18.0.101 live, ")
	g.outbounds(outbound)
	other := g.mapped(udp(endpoint(hostB, inA.Port()), server))
	if other == out {
		t.Errorf("%s rests for %s, and %s got it", out, hostA, hostB)
	}
	same(g, "endpoint of its host", g.mapped(udp(inA, server)), out)
	for n := range 6 { // more than there are slots, none of which is empty by itself
		g.outbounds(nth(n))
		same(g, "endpoint", g.mapped(udp(inA, server)), endpoint(nth(n), inA.Port()))
	}
	g.outbounds(outbound)
	g.idle(121 * time.Second)
	g.in(func() error { return g.data.TendSlots() })
	for _, s := range must(g.data.Slots())(t) {
		if (s.State == datapath.SlotLive) != (s.Address == outbound) || s.State == datapath.SlotDraining {
			t.Errorf("slot %d of %s is %s", s.Number, s.Address, s.State)
		}
	}
	g.census()
}

// The next daemon finds the slots as they are, and brings them up to date.
func TestOutboundAddressChangesWithoutDaemon(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	g.outbounds(outbound, nth(1))
	g.options.Outbound = []netip.Addr{nth(2)}
	g.reopen()
	same(g, "slots", g.slots(), "0 198.18.0.2 live, 1 198.18.0.101 live, ")
	same(g, "before the change", g.mapped(udp(inA, server)).Addr(), outbound)
	change := g.outbounds(nth(2))
	same(g, "sessions ended", change.Ended, 1)
	same(g, "after it", g.mapped(udp(inA, server)).Addr(), nth(2))
	same(g, "ARP", g.arp(outbound), "to_gateway")
	same(g, "a pool address", g.arp(pool1), "answered_arp")
	g.census()
}

// I9: whatever comes and goes, a packet to an endpoint that a host had reaches that host, or nobody.
func TestOutboundAddressesNeverMixHosts(t *testing.T) {
	t.Parallel()
	for _, f := range []model.Filtering{model.EndpointIndependent, model.AddressDependent} {
		t.Run(f.String(), func(t *testing.T) {
			g := newGateway(t, filtering(f))
			random := rand.New(rand.NewPCG(17, uint64(f)))
			owner := map[netip.AddrPort]netip.Addr{} // who had it last
			addresses := []netip.Addr{outbound}
			for range 20 {
				for range 8 {
					in := endpoint(host(random.IntN(40)), uint16(5000+random.IntN(3)))
					r := g.put(udp(in, server))
					if len(addresses) == 0 {
						same(g, "reason", r.reason, "drop_no_address")
						continue
					}
					out := g.forwarded(r).Tuple().Source
					if !slices.Contains(addresses, out.Addr()) {
						t.Fatalf("%s left as %s, of %v", in, out, addresses)
					}
					owner[out] = in.Addr()
				}
				for out, host := range owner {
					if r := g.put(udp(server, out)); r.reason == "forwarded" && r.packet.IPv4.Destination != host {
						t.Fatalf("a packet to %s of %s reached %s", out, host, r.packet.IPv4.Destination)
					} else if r.reason == "forwarded" && !slices.Contains(addresses, out.Addr()) {
						t.Fatalf("a packet to %s, which has left, reached %s", out, r.packet.IPv4.Destination)
					}
				}
				addresses = addresses[:0:0]
				for _, n := range random.Perm(6)[:random.IntN(4)] {
					addresses = append(addresses, nth(n))
				}
				g.outbounds(addresses...)
				g.census()
			}
		})
	}
}
