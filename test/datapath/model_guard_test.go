package datapath

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// modelGuard holds each direction's last number, in units of 64 KiB: out is
// true for what the host has sent.
type modelGuard map[bool]uint16

func unit(number uint32) uint16 { return uint16(number >> 16) }

// ahead is how far on a unit is; they go round.
func (g modelGuard) ahead(p *packets.Packet, out bool) int {
	return int(int16(unit(p.TCP.Sequence) - g[out]))
}

func (g modelGuard) believes(p *packets.Packet, out bool) bool {
	ahead := g.ahead(p, out)
	return -16 <= ahead && ahead <= 16
}

// follow goes on with a segment that leads to the state.
func (g modelGuard) follow(p *packets.Packet, out bool, state string) {
	ahead := g.ahead(p, out)
	behind := g[!out] - unit(p.TCP.Acknowledge)
	switch {
	case p.TCP.Flags&packets.RST != 0:
		return
	case p.TCP.Flags&packets.SYN != 0:
		if state != "syn" && state != "syn_both" {
			return
		}
	case 0 < ahead && ahead <= 16:
	case -1024 <= ahead && ahead <= 0:
		return
	case p.TCP.Flags&packets.ACK == 0 || behind > 8:
		return
	}
	g[out] = unit(p.TCP.Sequence)
}

// touch is what a segment does to the session: RSTs and FINs only where its
// guard believes them.
func (s *modelSession) touch(p *packets.Packet, out bool) {
	if p.TCP == nil {
		return
	}
	next := s.after(p.TCP.Flags, out)
	s.guard.follow(p, out, next)
	if p.TCP.Flags&(packets.RST|packets.FIN) == 0 || s.guard.believes(p, out) {
		s.state = next
	}
}

// guess gives a segment numbers that are mostly about those of its session, if
// there is one.
func (d *duel) guess(p *packets.Packet, from, to netip.AddrPort) {
	p.TCP.Sequence, p.TCP.Acknowledge = d.r.Uint32(), d.r.Uint32()
	s, out := d.model.sessions[pair{model.TCP, from, to}], true
	for _, other := range d.model.sessions {
		if other.protocol == model.TCP && other.external == to && other.remote == from {
			s, out = other, false
		}
	}
	if s == nil || d.r.IntN(4) == 0 {
		return
	}
	far := choose(d.r, 1, 1, 1, 9, 20, 1200)
	about := func(last uint16) uint32 { return uint32(last+uint16(d.r.IntN(2*far+1)-far))<<16 | d.r.Uint32()>>16 }
	p.TCP.Sequence, p.TCP.Acknowledge = about(s.guard[out]), about(s.guard[!out])
}
