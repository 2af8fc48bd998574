package scenario

import (
	"hash/maphash"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// arrival is what a frame is that comes while a packet is awaited.
type arrival int

const (
	foreign     arrival = iota // another program's
	awaited                    // the packet
	late                       // one that was given up
	doubled                    // the one that came before, once more
	misdirected                // of the recording, and none that is to come here
)

// identity tells a packet of a recording from others at the end where it arrives. The source is
// the far end's own where nobody translates it; what a device translates it to is not known before.
type identity struct {
	protocol    model.Protocol
	source      netip.AddrPort
	destination netip.AddrPort
	sequence    uint32 // of TCP or of an ICMP query
	flags       packets.Flags
	payload     uint64 // a hash
}

// awaiting sorts what comes to one side, packet by packet.
type awaiting struct {
	seed     maphash.Seed
	ends     []netip.Prefix // of hosts and far ends: what else comes is another program's
	now      identity
	before   identity
	givenUp  map[identity]bool
	arrivals [misdirected + 1]int
}

func newAwaiting(ends ...netip.Prefix) *awaiting {
	return &awaiting{seed: maphash.MakeSeed(), ends: ends, givenUp: map[identity]bool{}}
}

// identify takes the source as known where it is outside, that of an answer.
func (a *awaiting) identify(p packets.Packet, back bool) identity {
	t := p.Tuple()
	id := identity{protocol: t.Protocol, destination: t.Destination, payload: maphash.Bytes(a.seed, p.Payload)}
	if back {
		id.source = t.Source
	}
	switch {
	case p.TCP != nil:
		id.sequence, id.flags = p.TCP.Sequence, p.TCP.Flags
	case p.ICMP != nil:
		id.sequence = uint32(p.ICMP.Sequence())
	}
	return id
}

// next awaits another packet, as it is to arrive.
func (a *awaiting) next(id identity) { a.before, a.now = a.now, id }

// giveUp has it that the packet is lost. It may come late.
func (a *awaiting) giveUp() { a.givenUp[a.now] = true }

// sort says what a frame is that came, and counts it.
func (a *awaiting) sort(got packets.Packet, back bool) arrival {
	what := foreign
	switch id := a.identify(got, back); {
	case got.IPv4 == nil:
	case id == a.now:
		what = awaited
	case a.givenUp[id]:
		delete(a.givenUp, id)
		what = late
	case id == a.before:
		what = doubled
	case a.ours(got.IPv4.Source) || a.ours(got.IPv4.Destination):
		what = misdirected
	}
	a.arrivals[what]++
	return what
}

func (a *awaiting) ours(address netip.Addr) bool {
	for _, p := range a.ends {
		if p.Contains(address) {
			return true
		}
	}
	return false
}
