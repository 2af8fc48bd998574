package datapath

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// softCodes of "destination unreachable" are of no connection that is being made: the path's MTU, and what is no code at all.
var softCodes = []uint8{fragmentationNeeded, 16}

// about is an ICMP error from inside about the SYN of a connection, or about what has another number.
func (v *visit) about(from netip.Addr, kind, code uint8, sequence uint32, keep int) packets.Packet {
	return packets.NewICMPError(from, v.client.Addr(), kind, code, 0, segment(v.client, v.at, packets.SYN, sequence, 0), keep)
}

// A host, or a router before it, says that it cannot be reached: nobody waits for it any longer (RFC 5461 section 4.1).
func TestWebHostUnreachable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	for code := range uint8(17) {
		v := g.visitor(endpoint(remote, 50000+uint16(code)), fullAbility, fullAbility)
		v.knocks(allPromised)
		v.connects("GET / HTTP/1.1\r\n")
		from, keep := hostA, 8
		if code%2 == 0 {
			from, keep = insideHop, -1
		}
		r := g.put(v.about(from, packets.DestinationUnreachable, code, v.isn, keep))
		if slices.Contains(softCodes, code) {
			g.dropped(r, "drop_no_session")
			v.opens()
			v.talks()
			continue
		}
		g.dropped(r, "drop_host_refused")
		e := g.tells(datapath.WebRefused)[0]
		same(g, "flow", e.Flow, v.flow())
		same(g, "reason", e.Reason, "drop_host_refused")
		same(g, "of the connection", e.Begun, v.isn)
		same(g, "reason of an answer behind it", g.put(v.says(synAck, hostISN, v.isn+1, "", nil)).reason, "drop_not_syn")
	}
	g.count(len(softCodes))
	g.sound()
}

// Who does not know the number of our SYN ends nothing (RFC 5927 section 4.1), nor do other errors.
func TestWebHostUnreachableIsChecked(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET / HTTP/1.1\r\n")
	for _, sequence := range []uint32{v.isn + 1, v.isn - 1, 0, v.cookie} {
		g.dropped(g.put(v.about(hostA, packets.DestinationUnreachable, portUnreachable, sequence, 8)), "drop_no_session")
	}
	g.dropped(g.put(v.about(hostA, packets.TimeExceeded, 0, v.isn, 8)), "drop_no_session")
	damaged := addressed(v.about(hostA, packets.DestinationUnreachable, portUnreachable, v.isn, 8)).Bytes()
	damaged[len(damaged)-1] ^= 1
	g.dropped(g.put(must(packets.Parse(damaged))(t)), "drop_bad_checksum")
	g.tells()
	v.opens()
	v.talks()
	g.sound()
}

// Nobody reads names of what a cookie has opened: its client hears it with the number that it was promised.
func TestOverflowHostUnreachable(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	g.dropped(g.put(v.about(insideHop, packets.DestinationUnreachable, prohibited, v.isn+1, 8)), "drop_no_session")
	v.refused(g.put(v.about(insideHop, packets.DestinationUnreachable, prohibited, v.isn, 8)))
	g.count(overflowRing)
	g.sound()
}
