package pool

import "github.com/realmgate/realmgate/internal/model"

// pressedHold is the part of a hold that even an idle reservation keeps: time
// for the connections that a client opens at once.
const pressedHold = 4

// Idle reports that every session by the reservation has ended. Its hold goes
// on, but ends early when the pool is pressed.
func (p *Pool) Idle(id uint64) {
	if e, ok := p.lookup(id); ok && !p.entries[e].idle && p.entries[e].used {
		p.entries[e].idle = true
		p.idle = append(p.idle, id) // at most one for each entry and claim
	}
}

// Press ends the holds of idle reservations after a quarter of their time: call
// it when Offer finds the pool exhausted. Due then returns them as they end.
func (p *Pool) Press(now model.Instant) {
	kept := p.idle[:0]
	for _, id := range p.idle {
		e, ok := p.lookup(id)
		if !ok || !p.entries[e].idle {
			continue
		}
		n := &p.entries[e]
		if n.State != Claimed {
			kept = append(kept, id) // claims are left; its hold is to come
			continue
		}
		if early := n.lastClaim.Add(n.Again / pressedHold); early < n.FreeAt {
			n.FreeAt = max(early, now)
			p.due.set(e, n.FreeAt)
		}
	}
	p.idle = kept
}
