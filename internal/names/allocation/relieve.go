package allocation

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// relieveEvery is how often a pool without an address for somebody looks for clients that keep places by their sessions
// alone: it reads all sessions.
const relieveEvery = 30 * time.Second

// runRelief frees places while the pool is exhausted, until ctx ends.
func (rl *relief) runRelief(ctx context.Context) {
	ticker := time.NewTicker(relieveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := rl.relieve(); err != nil {
			rl.log.Error("shares of client networks not read", "error", err)
		}
	}
}

// keepers are the places that one client network alone keeps, the longest silent first.
type keepers map[netip.Prefix][]kept24

type kept24 struct {
	address netip.Addr
	silent  time.Duration
}

// uses are by whom addresses are used. They take as little as there are addresses, however many sessions stand.
type uses map[netip.Addr]*use

type use struct {
	client netip.Prefix
	silent time.Duration
	shared bool
}

func (uses uses) note(s *datapath.Session) {
	client, _ := s.Remote.Addr().Prefix(clientBits)
	u := uses[s.External.Addr()]
	switch {
	case u == nil:
		uses[s.External.Addr()] = &use{client: client, silent: s.Idle}
	case u.client != client:
		u.shared = true
	default:
		u.silent = min(u.silent, s.Idle)
	}
}

// alone finds the addresses whose standing sessions are all of one client network.
func (uses uses) alone() keepers {
	found := keepers{}
	for address, u := range uses {
		if !u.shared {
			found[u.client] = append(found[u.client], kept24{address, u.silent})
		}
	}
	for _, list := range found {
		slices.SortFunc(list, func(x, y kept24) int {
			return cmp.Or(cmp.Compare(y.silent, x.silent), x.address.Compare(y.address))
		})
	}
	return found
}

// standing reports whether a session keeps its place: from the pool, proved, and not ended.
func standing(s *datapath.Session) bool {
	return s.IsLent() && !s.Tentative && s.State != "fin_both" && s.State != "rst"
}

// relieve takes from client networks what they keep beyond their share, if the pool has no address for somebody: their
// bindings rest, and their sessions end, so that their next packet is answered by RST.
func (rl *relief) relieve() error {
	rl.mutex.Lock()
	pressed := rl.pressure.exhausted && rl.pressed()
	rl.mutex.Unlock()
	if !pressed {
		return nil
	}
	uses := uses{}
	err := rl.options.Plane.Sessions(func(s datapath.Session) {
		if standing(&s) {
			uses.note(&s)
		}
	})
	if err != nil {
		return err
	}
	over := rl.withdrawBeyondShare(uses.alone())
	if len(over) == 0 {
		return nil
	}
	ended, err := rl.options.Plane.EndSessions(func(s datapath.Session) bool {
		return s.IsLent() && over[s.External.Addr()]
	})
	rl.log.Warn("sessions over client share ended", "addresses",
		slices.SortedFunc(maps.Keys(over), netip.Addr.Compare), "sessions", ended)
	return err
}

// withdrawBeyondShare lets the bindings rest that client networks keep beyond their share.
func (rl *relief) withdrawBeyondShare(found keepers) map[netip.Addr]bool {
	rl.mutex.Lock()
	defer rl.mutex.Unlock()
	now, over := rl.options.Now(), map[netip.Addr]bool{}
	for client, list := range found {
		who := policy.Asker{Client: client, Resolver: client.Addr(), Verified: true}
		share := policy.Share(rl.pool.Statistics().Addresses, rl.admission.Reputation(now, who))
		list = slices.DeleteFunc(list, func(k kept24) bool { return !rl.rested(now, k.address) })
		for _, k := range list[:max(0, len(list)-share)] {
			over[k.address] = true
		}
	}
	for address := range over {
		var bound []uint64
		for b := range rl.pool.At(address) {
			bound = append(bound, b.ID)
		}
		for _, id := range bound {
			if b, ok := rl.pool.Unbind(id); ok {
				rl.unbind(&b)
			}
		}
	}
	return over
}

// rested reports that nothing but sessions keeps an address from others: the last answer was long ago.
func (rl *relief) rested(now model.Instant, address netip.Addr) bool {
	for b := range rl.pool.At(address) {
		if b.State == pool.Bound && b.Answered > 0 && b.Answered.Add(rl.config.Pool.Rest) > now {
			return false
		}
	}
	return true
}
