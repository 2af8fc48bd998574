package edge

import (
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/pact"
)

// tick is how often pacts are looked at.
const tick = time.Second

// tend ends pacts that nobody uses, or whose lease is over.
func (s life) tend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil {
		return
	}
	now := s.Now()
	s.sweep(time.Now())
	s.endAgain()
	renew, idle, over := s.pacts.Due(now)
	s.askRenewal(renew)
	if len(idle)+len(over) == 0 {
		return
	}
	if err := s.readUses(); err != nil {
		s.Log.Error("uses of pacts not read", "error", err)
		return
	}
	unused := idle[:0]
	for _, p := range idle {
		if again, found := s.pacts.ByTag(p.Own); found && now.Sub(again.Used) >= s.Idle {
			unused = append(unused, p)
		}
	}
	s.end("idle", unused...)
	s.end("lease over", over...)
	s.tell("idle", unused)
	s.tell("lease over", over)
}

// readUses has the store know which pacts packets have passed by; the lock is held.
func (s life) readUses() error {
	return s.Plane().Pacts(func(p datapath.Pact) bool {
		if kept, found := s.pacts.ByTag(p.Own); found && kept.State == pact.Live {
			s.pacts.Used(p.Number, p.Used)
		}
		return true
	})
}
