package dataplane

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// held is what the session records say of a binding.
type held struct{ records, sessions int }

// isLent is session_is_lent of bpf/conntrack/session.h.
func isLent(s *typesSession) bool {
	return typesOrigin(s.Origin) == typesOriginORIGIN_POOL || typesOrigin(s.Origin) == typesOriginORIGIN_COOKIE
}

// bindingOf is session_binding of the same.
func bindingOf(s *typesSession) uint32 {
	if typesOrigin(s.Origin) == typesOriginORIGIN_COOKIE {
		return s.Holds.Pool.Expected & 0xffffff
	}
	return s.Holds.Pool.Binding
}

// stands is session_stands of bpf/conntrack/standing.h.
func stands(s *typesSession) bool {
	tcp := typesTcpState(s.Life.As.Tcp)
	unproved := s.Marks.As.Flags&sessionTentative != 0 &&
		(typesOrigin(s.Origin) != typesOriginORIGIN_COOKIE || s.Marks.As.Flags&sessionSettled == 0)
	return !unproved && tcp != typesTcpStateTCP_FIN_BOTH && tcp != typesTcpStateTCP_RST
}

// bindings compares what bindings count with the sessions that name them, and the bound ports
// with their index.
func (a *audit) bindings() error {
	counts := map[uint32]held{}
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		if !isLent(s) || typesPhase(s.Life.As.Phase) != typesPhasePHASE_LIVE {
			return
		}
		c := counts[bindingOf(s)]
		c.records++
		if stands(s) {
			c.sessions++
		}
		counts[bindingOf(s)] = c
	})
	if err != nil {
		return err
	}
	err = datapath.ForEach(a.t.of["binding_table"], func(slot uint32, b *typesBinding) {
		a.c.Bindings += int(b.Open)
		if c := counts[slot]; int(b.Records) != c.records || int(b.Sessions) != c.sessions {
			a.problem("binding %d counts %d records and %d sessions, there are %d and %d", slot, b.Records, b.Sessions, c.records, c.sessions)
		}
	})
	if err != nil {
		return err
	}
	err = datapath.ForEach(a.t.of["bound_port_table"], func(_ uint32, p *typesBoundPort) {
		if p.Number != 0 {
			a.c.BoundPorts++
		}
	})
	if a.c.BoundPorts != a.c.BoundPortIndex {
		a.problem("%d ports are bound, but %d slots of their index are in use", a.c.BoundPorts, a.c.BoundPortIndex)
	}
	return err
}

// known compares what known clients count with their sessions.
func (a *audit) known() error {
	numbers := map[uint32]uint32{} // of bindings, by their slots
	err := datapath.ForEach(a.t.of["binding_table"], func(slot uint32, b *typesBinding) { numbers[slot] = b.Number })
	if err != nil {
		return err
	}
	type counted struct {
		client uint64
		tcp    bool
	}
	sessions := map[counted]int{}
	err = datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		if isLent(s) && typesPhase(s.Life.As.Phase) == typesPhasePHASE_LIVE && s.Marks.As.Flags&sessionKnown != 0 && stands(s) {
			client := knownKey(addressOf(s.RemoteAddress), numbers[bindingOf(s)])
			sessions[counted{client, model.Protocol(s.Protocol) == model.TCP}]++
		}
	})
	if err != nil {
		return err
	}
	return datapath.ForAll(a.t.of["known_table"], func(_ uint32, k *typesKnown) {
		life := knownLifeOf(k.Life)
		tcp, others := sessions[counted{k.Key, true}], sessions[counted{k.Key, false}]
		if int(life.Tcp) != tcp || int(life.Others) != others {
			a.problem("a known client, %s, counts %d sessions of TCP and %d others, there are %d and %d",
				clientOf(k.Key), life.Tcp, life.Others, tcp, others)
		}
		if life.Tcp > 0 || life.Others > 0 {
			a.c.Known++
		}
	})
}

func clientOf(key uint64) netip.Addr { return addressOf(uint32(key)) }
