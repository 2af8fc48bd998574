package datapath

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

func echo(from, to netip.Addr, id uint16) packets.Packet { return packets.NewEcho(from, to, id, 1) }
func echoReply(from, to netip.Addr, id uint16) packets.Packet {
	return packets.NewEchoReply(from, to, id, 1)
}

func TestRFC5508_REQ1_EchoFromInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.leaves(g.put(echo(hostA, remote, 77)), echo(outbound, remote, 77))
	g.leaves(g.put(echoReply(remote, outbound, 77)), echoReply(remote, hostA, 77))
	g.dropped(g.put(echo(remote, outbound, 77)), "drop_no_mapping") // nobody asked for a question
	g.dropped(g.put(echoReply(hostA, remote, 78)), "drop_no_session")
}

// Filtering that lets anybody ask a host does not let anybody answer it.
func TestEchoReplyOfAStranger(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	g.leaves(g.put(echo(hostA, remote, 77)), echo(outbound, remote, 77))
	g.dropped(g.put(echoReply(remote2, outbound, 77)), "drop_no_session")
	g.count(1)
	g.leaves(g.put(echoReply(remote, outbound, 77)), echoReply(remote, hostA, 77))
}

func TestRFC5508_REQ1a_IdentifierMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	same(g, "identifier", g.put(echo(hostA, remote, 77)).packet.ICMP.Identifier(), 77)
	same(g, "identifier towards another", g.put(echo(hostA, remote2, 77)).packet.ICMP.Identifier(), 77)
	other := g.put(echo(hostB, remote, 77)).packet.ICMP.Identifier()
	if other == 77 {
		t.Fatal("two hosts share an identifier")
	}
	g.leaves(g.put(echoReply(remote, outbound, other)), echoReply(remote, hostB, 77))
	// Identifier 0 is one like others.
	zero := g.put(echo(hostA, remote, 0)).packet.ICMP.Identifier()
	g.leaves(g.put(echoReply(remote, outbound, zero)), echoReply(remote, hostA, 0))
	g.dropped(g.put(echoReply(hostB, remote, 0)), "drop_no_session")
}

func TestRFC5508_REQ2_NotBeforeSixtySeconds(t *testing.T) {
	t.Parallel()
	g := newGateway(t, byDefault(t))
	g.put(echo(hostA, remote, 77))
	g.idle(59 * time.Second)
	g.leaves(g.put(echoReply(remote, outbound, 77)), echoReply(remote, hostA, 77))
}

func TestRFC5508_REQ2a_TimerConfigurable(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutICMP] = 90 * time.Second }))
	g.put(echo(hostA, remote, 77))
	g.idle(89 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
}

func TestRFC5508_REQ8_Prohibited(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	client, public, service := endpoint(remote, 50000), endpoint(pool1, 80), endpoint(hostA, 8080)
	g.lend(pool1, 80, service, nil)
	g.established(client, public, service)
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, nil, nil); return err })
	p := tcp(service, client, packets.ACK)
	g.refused(g.put(p), p, "drop_service_closed", privateAddress, packets.DestinationUnreachable, prohibited, 0)
}

func TestRFC5508_REQ9_NoErrorsToOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	client, public, service := endpoint(remote, 50000), endpoint(pool1, 80), endpoint(hostA, 8080)
	g.lend(pool1, 80, service, nil)
	g.established(client, public, service)
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, nil, nil); return err })
	g.dropped(g.put(tcp(client, public, packets.ACK)), "drop_service_closed")
	g.dropped(g.put(udp(server2, out)), "drop_filtered")
	g.dropped(g.put(udp(server, endpoint(outbound, 9))), "drop_no_mapping")
	g.dropped(g.put(udp(server, endpoint(pool2, 9))), "drop_no_binding")
	g.dropped(g.put(udp(server, endpoint(never, 9))), "drop_not_for_us")
	g.dropped(g.put(udp(server, endpoint(outbound, 9)).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })), "drop_no_mapping")
}

func ttl1(p packets.Packet) packets.Packet {
	return p.Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
}

func TestRFC5508_REQ10_Messages(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	g.forwarded(g.put(echo(hostA, remote, 77)))
	translated := map[uint8]bool{0: true, 3: true, 8: true, 11: true, 12: true}
	for icmpType := range 256 {
		p := packets.NewICMPError(remote, outbound, uint8(icmpType), 0, 0, udp(out, server), 8)
		if icmpType == 0 {
			p = echoReply(remote, outbound, 77)
		}
		r := g.put(p)
		if icmpType == 8 {
			r = g.put(echo(hostA, remote, 77)) // questions pass from inside
		}
		if translated[uint8(icmpType)] {
			g.forwarded(r)
		} else {
			g.dropped(r, "drop_icmp_type")
		}
	}
}

func TestRFC5508_REQ10a_RequiredMessages(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for code := range uint8(16) {
		g.leaves(g.put(unreachable(hop, code, 1400, udp(out, server), 8)),
			packets.NewICMPError(hop, hostA, packets.DestinationUnreachable, code, 1400, udp(inA, server), 8))
	}
	for code := range uint8(2) {
		g.leaves(g.put(packets.NewICMPError(hop, outbound, packets.TimeExceeded, code, 0, udp(out, server), 8)),
			packets.NewICMPError(hop, hostA, packets.TimeExceeded, code, 0, udp(inA, server), 8))
	}
	g.leaves(g.put(echo(hostA, remote, 77)), echo(outbound, remote, 77))
	g.leaves(g.put(echoReply(remote, outbound, 77)), echoReply(remote, hostA, 77))
	// And the gateway's own.
	p := ttl1(udp(inA, server))
	g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
}

func TestRFC5508_REQ10b_OptionalMessages(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	pointer := uint32(20 << 24)
	g.leaves(g.put(packets.NewICMPError(hop, outbound, packets.ParameterProblem, 0, pointer, udp(out, server), 8)),
		packets.NewICMPError(hop, hostA, packets.ParameterProblem, 0, pointer, udp(inA, server), 8))
	for _, icmpType := range []uint8{5, 9, 10, 13, 14, 17, 18} {
		g.dropped(g.put(packets.NewICMP(hop, outbound, icmpType, 0, 0, make([]byte, 28))), "drop_icmp_type")
		g.dropped(g.put(packets.NewICMP(hostA, remote, icmpType, 0, 0, make([]byte, 28))), "drop_icmp_type")
	}
}

func TestRFC5508_REQ10c_ObsoleteMessagesDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, icmpType := range []uint8{4, 15, 16} {
		g.dropped(g.put(packets.NewICMPError(hop, outbound, icmpType, 0, 0, udp(out, server), 8)), "drop_icmp_type")
		g.dropped(g.put(packets.NewICMP(hostA, remote, icmpType, 0, 0, make([]byte, 28))), "drop_icmp_type")
	}
}

func TestRFC5508_REQ10d_DSField(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, tos := range []uint8{0, 0xb8, 0xff} {
		r := g.put(ttl1(udp(inA, server)).Change(func(p *packets.Packet) { p.IPv4.TOS = tos }))
		same(g, "DS field of the error", r.packet.IPv4.TOS, 0xc0) // internetwork control
	}
}

func TestRFC5508_REQ10e_WhenNotToSend(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	p := ttl1(udp(inA, server))
	g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)

	g.dropped(g.put(ttl1(unreachable(hop, 1, 0, udp(out, server), 8))), "drop_ttl_expired")
	g.dropped(g.put(ttl1(unreachable(hostA, 1, 0, udp(server, inA), 8))), "drop_ttl_expired")
	g.dropped(g.put(ttl1(big(inA, server, 200, false)).Fragments(64)[1]), "drop_fragment")
	first := ttl1(big(inA, server, 200, false)).Fragments(64)[0]
	g.refused(g.put(first), first, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
	g.dropped(g.send(false, p.Between(packets.HostMAC, packets.BroadcastMAC).Bytes()), "drop_link_broadcast")
	g.dropped(g.put(ttl1(udp(inA, endpoint(netip.MustParseAddr("239.1.2.3"), 9)))), "drop_multicast")
	g.dropped(g.put(ttl1(udp(endpoint(netip.MustParseAddr("240.0.0.1"), 9), out))), "drop_bad_address")
}

// Each CPU sends at most 256 errors in a tick of 0.27 s.
func TestRFC5508_REQ10f_RateLimit(t *testing.T) {
	t.Parallel()
	const perTick, tick = 256, 268 * time.Millisecond
	g := newGateway(t)
	frame := inside(ttl1(udp(inA, server))).Bytes()
	answers, silent := 0, false
	start := time.Now()
	g.in(func() error {
		for deadline := start.Add(10 * time.Second); !silent && time.Now().Before(deadline); {
			action, _, err := g.inject(false, g.private, frame)
			if err != nil {
				return err
			}
			silent = action == dataplane.Drop
			if !silent {
				answers++
			}
		}
		return nil
	})
	most := (int(time.Since(start)/tick) + 2) * perTick * runtime.NumCPU()
	if !silent || answers > most || answers < perTick {
		t.Fatalf("%d errors in %v (silence: %v), want %d to %d", answers, time.Since(start), silent, perTick, most)
	}
	same(g, "errors counted", must(g.data.Usage())(t).ICMPErrors, uint64(answers))
}

func TestRFC5508_REQ11_OthersDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, icmpType := range []uint8{1, 2, 6, 7, 30, 37, 40, 42, 43, 253, 255} {
		g.dropped(g.put(packets.NewICMP(remote, outbound, icmpType, 0, 0, nil)), "drop_icmp_type")
		g.dropped(g.put(packets.NewICMP(hostA, remote, icmpType, 0, 0, nil)), "drop_icmp_type")
	}
}
