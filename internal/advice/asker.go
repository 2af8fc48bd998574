package advice

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
)

const (
	// askersCounted bounds who is counted at a time.
	askersCounted = 256
	// askersStep is how often what was counted before is forgotten.
	askersStep = recentSpan / 2
)

// askers count whose questions were refused in the last minutes. Where there are more than are
// counted, each that is new takes one from all (Misra and Gries): who asks much stays, and nobody
// is told to have asked more than it has.
type askers struct {
	mutex       sync.Mutex
	since       model.Instant
	now, before map[netip.Addr]int
}

// note counts a refused question.
func (a *askers) note(at model.Instant, asker netip.Addr) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.turn(at)
	if _, counted := a.now[asker]; counted || len(a.now) < askersCounted {
		a.now[asker]++
		return
	}
	for other := range a.now {
		if a.now[other]--; a.now[other] == 0 {
			delete(a.now, other)
		}
	}
}

// turn forgets what is old. Under the lock.
func (a *askers) turn(at model.Instant) {
	if passed := at.Sub(a.since); a.now == nil || passed >= askersStep {
		a.before = a.now
		if passed >= 2*askersStep {
			a.before = nil
		}
		a.now, a.since = map[netip.Addr]int{}, at
	}
}

// list is how many questions of whom were refused.
func (a *askers) list(at model.Instant) map[netip.Addr]int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.turn(at)
	all := map[netip.Addr]int{}
	for _, counts := range []map[netip.Addr]int{a.before, a.now} {
		for asker, n := range counts {
			all[asker] += n
		}
	}
	return all
}

// ofAsker are the refusals that are nobody's doing but the asker's.
var ofAsker = []error{policy.ErrClientLimit, policy.ErrResolverLimit, policy.ErrReputation, policy.ErrShare}

// watchedAllocator counts who is refused for what it has asked before, of those who have proved their address.
type watchedAllocator struct {
	nameserver.Allocator
	refused *askers
}

// Allocate implements nameserver.Allocator.
func (w watchedAllocator) Allocate(ctx context.Context, q nameserver.Question) (nameserver.Answer, error) {
	answer, err := w.Allocator.Allocate(ctx, q)
	if q.Verified && slices.ContainsFunc(ofAsker, func(why error) bool { return errors.Is(err, why) }) {
		w.refused.note(datapath.Now(), q.Client.Addr())
	}
	return answer, err
}

// questioners names who had most questions refused lately, inside and outside, each with the
// command that stops it.
func (s *Service) questioners(at model.Instant) []string {
	return append(insideQuestioners(s.overdone.list(at)), outsideQuestioners(s.refused.list(at))...)
}

// insideQuestioners names nobody of many: one host may have asked in their names.
func insideQuestioners(refused map[netip.Addr]int) (list []string) {
	for _, a := range greatest(refused) {
		list = append(list, fmt.Sprintf("host %s asks for more names at a time than one host may, and %d questions were dropped lately; %s", a, refused[a], stopHost(a)))
	}
	if len(refused) > 0 && len(list) == 0 {
		list = append(list, fmt.Sprintf("%d hosts ask for more names at a time than one host may: one may do it in the names of the others; its link address is in: tcpdump -e udp port 53", len(refused)))
	}
	return list
}

func outsideQuestioners(refused map[netip.Addr]int) (list []string) {
	for _, a := range greatest(refused) {
		if refused[a] >= refusedLeast {
			list = append(list, fmt.Sprintf("%s asks for more names than it uses, and %d questions were refused lately; unless it is a resolver of many, stop it: realmgate ban add %s", a, refused[a], a))
		}
	}
	return list
}

// greatest are those who have a share of all.
func greatest(counts map[netip.Addr]int) []netip.Addr {
	all := 0
	for _, n := range counts {
		all += n
	}
	return slices.DeleteFunc(most(counts, func(n int) int { return n }), func(a netip.Addr) bool {
		return float64(counts[a]) < refusedShare*float64(all)
	})
}

// stopHost is the command after which a host inside opens and asks nothing: the way back to it leads nowhere.
func stopHost(a netip.Addr) string {
	return fmt.Sprintf("to keep it out: ip route add blackhole %s", a)
}
