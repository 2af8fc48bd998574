package datapath

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// AH signs the addresses: no translation passes it, not even where there is none to do.
func TestProtocolsThatAreRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite))
	g.oneToOne(map[netip.Addr]netip.Addr{hostB: alone2})
	g.lend(pool2, 0, endpoint(hostB, 0), nil)
	for _, protocol := range []model.Protocol{51, 2, 89, 103, 112, 255} {
		for _, p := range []packets.Packet{
			packets.NewIP(hostA, remote, protocol, repeated(1, 40)), packets.NewIP(hostB, remote, protocol, repeated(1, 40)),
			packets.NewIP(hostA, far.Addr(), protocol, repeated(1, 40)), packets.NewIP(remote, outbound, protocol, repeated(1, 40)),
			packets.NewIP(remote, pool2, protocol, repeated(1, 40)), packets.NewIP(remote, alone2, protocol, repeated(1, 40)),
		} {
			g.dropped(g.put(p), "drop_protocol")
		}
		quoted := packets.NewIP(outbound, remote, protocol, repeated(1, 40))
		g.dropped(g.put(packets.NewICMPError(hop, outbound, packets.DestinationUnreachable, 1, 0, quoted, -1)), "drop_protocol")
	}
	g.count(0)
}

// What is shorter than its header, and a sum of UDP-Lite that covers less than that or more than there is (RFC 3828 section 3.1).
func TestBasicMalformed(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for protocol, least := range map[model.Protocol]int{
		model.IPIP: 20, model.DCCP: 12, model.SixIn4: 40, model.GRE: 4, model.ESP: 8, model.SCTP: 12, model.UDPLite: 8,
	} {
		g.dropped(g.put(packets.NewIP(hostA, remote, protocol, repeated(1, least-1))), "drop_malformed")
	}
	lite := packets.NewCovered(inA, server, 0, repeated(5, 33))
	for _, coverage := range []uint16{1, 7, 42, 65535} {
		p := lite.Clone()
		binary.BigEndian.PutUint16(p.Payload[4:], coverage)
		g.dropped(g.put(p), "drop_malformed")
	}
	none := lite.Clone()
	binary.BigEndian.PutUint16(none.Payload[6:], 0)
	g.dropped(g.put(none), "drop_malformed")
	g.count(0)
	g.leaves(g.put(packets.NewCovered(inA, server, 41, repeated(5, 33))), packets.NewCovered(endpoint(outbound, inA.Port()), server, 41, repeated(5, 33)))
}

// A daemon that comes after another finds the sessions, and they go on.
func TestBasicAdopted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, p := range basics {
		g.put(p(hostA, remote))
	}
	before := g.sessions()
	g.reopen()
	after := g.sessions()
	same(g, "sessions", len(after), 7)
	for _, s := range before {
		if !slices.ContainsFunc(after, func(a datapath.Session) bool { return a.String() == s.String() && a.Origin == "basic" }) {
			t.Errorf("%s is not among %v", s, after)
		}
	}
	for _, p := range basics {
		g.leaves(g.put(p(remote, outbound)), p(remote, hostA))
		g.unreachable(p(hostB, remote), "drop_session_conflict")
	}
}
