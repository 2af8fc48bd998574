package datapath

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// held is what the session records say of a binding.
type held struct{ records, sessions int }

// stands is session_stands of bpf/conntrack/standing.h.
func stands(s *bpfSession) bool {
	tcp := bpfTcpState(s.Life.As.Tcp)
	return s.Marks.As.Flags&sessionTentative == 0 && tcp != bpfTcpStateTCP_FIN_BOTH && tcp != bpfTcpStateTCP_RST
}

// bindings compares what bindings count with the sessions that name them, and the bound ports
// with their index.
func (a *audit) bindings() error {
	counts := map[uint32]held{}
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		if bpfOrigin(s.Origin) != bpfOriginORIGIN_POOL || bpfPhase(s.Life.As.Phase) != bpfPhasePHASE_LIVE {
			return
		}
		c := counts[s.Holds.Pool.Binding]
		c.records++
		if stands(s) {
			c.sessions++
		}
		counts[s.Holds.Pool.Binding] = c
	})
	if err != nil {
		return err
	}
	err = forEach(a.d.objects.BindingTable, func(slot uint32, b *bpfBinding) {
		a.c.Bindings += int(b.Open)
		if c := counts[slot]; int(b.Records) != c.records || int(b.Sessions) != c.sessions {
			a.problem("binding %d counts %d records and %d sessions, there are %d and %d", slot, b.Records, b.Sessions, c.records, c.sessions)
		}
	})
	if err != nil {
		return err
	}
	err = forEach(a.d.objects.BoundPortTable, func(_ uint32, p *bpfBoundPort) {
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
	numbers, err := a.d.bindingNumbers()
	if err != nil {
		return err
	}
	type counted struct {
		client uint64
		tcp    bool
	}
	sessions := map[counted]int{}
	err = forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		if bpfOrigin(s.Origin) == bpfOriginORIGIN_POOL && bpfPhase(s.Life.As.Phase) == bpfPhasePHASE_LIVE && s.Marks.As.Flags&sessionKnown != 0 && stands(s) {
			client := knownKey(addressOf(s.RemoteAddress), numbers[s.Holds.Pool.Binding])
			sessions[counted{client, model.Protocol(s.Protocol) == model.TCP}]++
		}
	})
	if err != nil {
		return err
	}
	return forAll(a.d.objects.KnownTable, func(_ uint32, k *bpfKnown) {
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
