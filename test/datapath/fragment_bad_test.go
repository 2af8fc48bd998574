package datapath

import (
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// piece is a fragment of the packet with so many octets from an offset, in octets.
func piece(p packets.Packet, offset, octets int, more bool) packets.Packet {
	whole := filled(p, 2000).Change(func(p *packets.Packet) { p.IPv4.DF, p.IPv4.ID = false, 9 }).Fragments(8)
	made := whole[min(offset/8, len(whole)-1)]
	var body []byte
	for at := offset / 8; len(body) < octets; at++ {
		body = append(body, whole[min(at, len(whole)-1)].Payload...)
	}
	made.Payload = body[:octets]
	made.IPv4.FragmentOffset, made.IPv4.MF = uint16(offset/8), more
	return made
}

// What no sender makes is dropped, so that nothing is put over a header (RFC 1858, RFC 3128).
func TestBadFragments(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	to := g.connected(inA, web)
	options := func(p packets.Packet) packets.Packet {
		return p.Change(func(p *packets.Packet) { p.TCP.Options = make([]byte, 12) })
	}
	for name, p := range map[string]packets.Packet{
		"a first one without all ports":          piece(udp(inA, server), 0, 0, true),
		"a first one of TCP without flags":       piece(tcp(inA, web, packets.ACK), 0, 8, true),
		"the same from outside":                  piece(tcp(web, to, packets.ACK), 0, 16, true),
		"a first one that cuts options":          piece(options(tcp(inA, web, packets.ACK)), 0, 24, true),
		"over the flags of TCP":                  piece(tcp(web, to, packets.ACK), 8, 64, true),
		"over the last octets of TCP's header":   piece(tcp(inA, web, packets.ACK), 16, 64, false),
		"more behind 12 octets":                  piece(udp(inA, server), 0, 12, true),
		"more behind 60 octets, from outside":    piece(udp(server, out), 64, 60, true),
		"beyond 65,535 octets":                   piece(udp(server, out), 65528, 64, false),
		"exactly beyond, with IP's header":       piece(udp(inA, server), 65512, 8, false),
		"a later one with nothing in it":         piece(udp(server, out), 64, 0, false),
		"a first one of ICMP without its header": piece(echo(hostA, remote, 3), 0, 0, true),
	} {
		if r := g.put(p); r.action != dataplane.Drop || r.reason != "drop_bad_fragment" {
			t.Errorf("%s: %v, %s", name, r.action, r.reason)
		}
	}
	g.passes(divided(filled(udp(inA, server), 400), 1, 200), filled(udp(out, server), 400))
}

// Who opens nothing leaves nothing: others are not led by its first fragment.
func TestFragmentsOfWhatOpensNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	refused := divided(filled(udp(server2, out), 400), 1, 200)
	g.dropped(g.put(refused[0]), "drop_filtered")
	g.dropped(g.put(refused[1]), "drop_fragment")
	g.dropped(g.put(divided(filled(udp(client, endpoint(pool1, 9)), 400), 1, 200)[0]), "drop_no_binding")
	g.count(1)
	bad := divided(filled(udp(server, out), 400), 2, 200)
	for i := range bad {
		bad[i].Ethernet.Destination = packets.BroadcastMAC
		g.dropped(g.send(true, bad[i].Between(packets.RouterMAC, packets.BroadcastMAC).Bytes()), []model.Reason{"drop_link_broadcast", "drop_fragment", "drop_fragment"}[i])
	}
}

// Two first fragments with one identification that do not agree are both nobody's.
func TestFirstFragmentsThatDoNotAgree(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	other := endpoint(server.Addr(), 54)
	g.mapped(udp(inA, server))
	g.mapped(udp(inA, other))
	pieces := divided(filled(udp(inA, server), 400), 5, 200)
	g.forwarded(g.put(pieces[0]))
	g.forwarded(g.put(pieces[0])) // the same again is no other
	g.forwarded(g.put(pieces[1]))
	g.dropped(g.put(divided(filled(udp(inA, other), 400), 5, 200)[0]), "drop_bad_fragment")
	for _, p := range pieces {
		g.dropped(g.put(p), "drop_bad_fragment")
	}
	g.passes(divided(filled(udp(inA, server), 400), 6, 200), filled(udp(endpoint(outbound, inA.Port()), server), 400))
}

// From outside nobody follows what goes round in a hairpin.
func TestFragmentsIntoAHairpinAreForged(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out, there := g.mapped(udp(inA, server)), g.mapped(udp(inB, server2))
	whole := filled(udp(inA, there), 400)
	id := g.passes(divided(whole, 1, 200), filled(udp(out, inB), 400))
	forged := outside(divided(filled(udp(out, there), 400), id, 200)[1])
	g.dropped(g.send(true, forged.Bytes()), "drop_fragment")
}

// aged takes time from words of a table, which have it at a bit, in units of 4.2 ms.
func aged(t testing.TB, table *ebpf.Map, words, at int, units uint64) {
	t.Helper()
	const mask = 1<<20 - 1
	for set := range table.MaxEntries() {
		value := make([]uint64, words)
		check(t, table.Lookup(set, &value))
		for i, word := range value {
			if table.MaxEntries() == 64 || i%2 == 1 {
				if word != 0 {
					value[i] = word&^(mask<<at) | (word>>at-units)&mask<<at
				}
			}
		}
		check(t, table.Put(set, value))
	}
}

// A context is good for 2 s, and who has waited for 100 ms gives its slot to another.
func TestFragmentsAreForgotten(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	pieces := divided(filled(udp(inA, server), 400), 1, 200)
	g.forwarded(g.put(pieces[0]))
	aged(t, g.table("fragment_contexts"), 8, 28, 2_100_000/4_194)
	g.dropped(g.put(pieces[1]), "held_fragment")
	full := divided(filled(udp(server, out), 400), 999, 200)
	for tries := 0; ; tries++ { // a busy machine may be too slow to fill them all while the first are young
		for n := range 200 {
			g.put(divided(filled(udp(server, out), 400), uint16(n), 200)[1])
		}
		if n := g.held(); n != 33 && n != 32 { // the host's may be in one of the sets that the remote address has
			t.Fatalf("%d slots are taken, not 32 and the host's", n)
		}
		r := g.put(full[1])
		if r.reason == "drop_fragment" {
			break
		}
		if g.dropped(r, "held_fragment"); tries == 20 {
			t.Fatal("there is always a slot")
		}
	}
	aged(t, g.table("fragment_holds"), 8, 4, 110_000/4_194)
	g.dropped(g.put(full[1]), "held_fragment")
}

// An ICMP error about a later fragment has no ports in it.
func TestErrorsThatQuoteAFragment(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	later := divided(filled(udp(out, server), 400), 1, 200)[1]
	g.dropped(g.put(unreachable(hop, 11, 1, later, 8)), "drop_quoted_fragment")
	first := divided(filled(udp(out, server), 400), 1, 200)[0]
	g.forwarded(g.put(unreachable(hop, 11, 1, first, 8)))
}

// Of fragments too long for the next hop the kernel makes shorter ones, unless their sender
// forbids it.
func TestFragmentsTooLongForTheNextHop(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	g.in(func() error { return setMTU("eth0", 1000) })
	g.data.RoutesChanged()
	pieces := divided(filled(udp(inA, server), 3000), 1, 1400)
	for _, p := range pieces[:2] {
		same(g, "reason", g.put(p).reason, "forwarded_by_stack")
	}
	same(g, "reason of the short one", g.put(pieces[2]).reason, "forwarded")
	for i := range pieces {
		pieces[i].IPv4.DF, pieces[i].IPv4.ID = true, 2
	}
	g.refused(g.put(pieces[0]), pieces[0], "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, 1000)
	g.dropped(g.put(pieces[1]), "held_fragment")
}

// On an address that the gateway shares, an early fragment may be the kernel's: it gets it, and
// what it is of may yet be a session's.
func TestEarlyFragmentsToASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	out := g.mapped(udp(inA, server))
	pieces := divided(filled(udp(server, out), 400), 1, 200)
	g.passed(g.put(pieces[1]), "to_gateway", addressed(pieces[1]).Bytes())
	same(g, "slots that are taken", g.held(), 1)
	stranger := divided(filled(udp(endpoint(nobody, 53), out), 400), 1, 200)[1]
	g.passed(g.put(stranger), "to_gateway", addressed(stranger).Bytes())
	same(g, "slots that are taken", g.held(), 1)
}

// Hosts inside choose identifications without each other; the gateway gives each packet that may
// be divided another one, and leaves those alone that may not.
func TestRFC7857_10_Identification(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	given := map[uint16]bool{}
	for n := range 300 {
		from := []netip.AddrPort{inA, inB}[n%2]
		whole := filled(udp(from, server), 400)
		if n%3 == 0 {
			given[g.forwarded(g.put(whole.Change(func(p *packets.Packet) { p.IPv4.DF, p.IPv4.ID = false, 7 }))).IPv4.ID] = true
		} else {
			given[g.passes(divided(whole, uint16(7+n/2), 200), filled(udp(endpoint(outbound, from.Port()), server), 400))] = true
		}
		atomic := g.forwarded(g.put(whole.Change(func(p *packets.Packet) { p.IPv4.ID = uint16(n) })))
		same(g, "identification of what may not be divided", atomic.IPv4.ID, uint16(n))
	}
	same(g, "identifications of 300 packets", len(given), 300)
}
