package allocation

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// scenario is some hours of honest visits, in simulated time, with somebody who asks for names, and never comes or does.
type scenario struct {
	addresses, names int
	rest             time.Duration
	visits           float64                // a second, all names together
	askers           func(n int) netip.Addr // the attacker's; nil: nobody attacks
	questions        float64                // a second, of the attacker
	few              int                    // it asks for as many names only; 0: for all
	comes            bool                   // and connects
	seed             uint64
}

const (
	simulated = 4 * time.Hour
	warm      = 40 * time.Minute       // what is not counted: the pool fills
	roundTrip = 50 * time.Millisecond  // from the answer to the proof
	session   = 500 * time.Millisecond // how long a visit's connection stands
	resolvers = 400                    // of honest clients, each in a /24 of its own
)

// served is what became of the honest visits.
type served struct {
	visits, got int
	held, heard int // visits to names that held their binding when they were asked for, and those served
}

func (s served) share() float64 { return float64(s.got) / float64(max(1, s.visits)) }

// happening is something of a simulated hour.
type happening struct {
	at   model.Instant
	what int
	name int
	from netip.Addr
}

// What can happen.
const (
	visit = iota
	attack
)

// schedule draws visits and questions; the visits are the same whoever attacks.
func (s *scenario) schedule() (list []happening) {
	end := start.Add(simulated)
	dice := rand.New(rand.NewPCG(s.seed, 1)) //nolint:gosec // a simulation
	for at := start; ; {
		at = at.Add(time.Duration(dice.ExpFloat64() / s.visits * float64(time.Second)))
		if at >= end {
			break
		}
		list = append(list, happening{at, visit, dice.IntN(s.names), netip.AddrFrom4([4]byte{100, 64 + byte(dice.IntN(resolvers)>>8), byte(dice.IntN(resolvers)), 53})})
	}
	if s.askers == nil {
		return list
	}
	dice = rand.New(rand.NewPCG(s.seed, 2)) //nolint:gosec // a simulation
	step := time.Duration(float64(time.Second) / s.questions)
	for n, at := 0, start; at < end; n, at = n+1, at.Add(step) {
		list = append(list, happening{at, attack, dice.IntN(cmp.Or(s.few, s.names)), s.askers(n)})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return int(min(1, max(-1, a.at-b.at))) })
	return list
}

// average plays several hours that differ in their visits: as many more as the addresses are fewer.
func (s *scenario) average(t testing.TB) (sum served) {
	for seed := range uint64(max(1, 64/s.names)) {
		s.seed = seed + 1
		one := s.run(t)
		sum.visits, sum.got = sum.visits+one.visits, sum.got+one.got
		sum.held, sum.heard = sum.held+one.held, sum.heard+one.heard
	}
	return sum
}

// run plays the hour.
func (s *scenario) run(t testing.TB) (result served) {
	w := &world{t: t, plane: newPlane(), store: &memory{entries: map[string][]byte{}}, now: start, services: webs(s.names), size: s.addresses, rest: s.rest}
	w.begin(false)
	w.keeper.store = &memory{entries: map[string][]byte{}}
	type later struct {
		at model.Instant
		do func()
	}
	var due []later
	for n, h := range s.schedule() {
		for len(due) > 0 && due[0].at <= h.at {
			w.now = due[0].at
			due[0].do()
			due = due[1:]
		}
		w.pass(h.at.Sub(w.now))
		service := w.services[h.name]
		_, held := w.Place(service.Name)
		q := nameserver.Question{
			Name: service.Name, Client: netip.AddrPortFrom(h.from, 53), Transport: nameserver.UDP, Verified: true, ID: uint64(n),
		}
		found, err := w.try(q, false)
		if errors.Is(err, nameserver.ErrExhausted) {
			w.noteExhausted(q)
		}
		w.keeper.flushForget()
		if h.what == attack && !s.comes {
			continue
		}
		if counts := h.what == visit && h.at >= start.Add(warm); counts {
			result.visits++
			if held {
				result.held++
			}
			if err == nil {
				result.got++
				if held {
					result.heard++
				}
			}
		}
		if err != nil || !found.address.IsValid() {
			continue
		}
		id := w.boundID(service.Name)
		due = append(due,
			later{h.at.Add(roundTrip), func() { w.come(id, h.from) }},
			later{h.at.Add(roundTrip + session), func() { w.plane.used[id] = w.now }})
		slices.SortStableFunc(due, func(a, b later) int { return int(min(1, max(-1, a.at-b.at))) })
	}
	return result
}

func (w *world) boundID(service model.Name) uint64 {
	b, _ := w.pool.Standing(service)
	return b.ID
}

// come is the proof of a client that asked itself.
func (w *world) come(binding uint64, from netip.Addr) {
	w.plane.used[binding] = w.now
	for id, r := range w.plane.reservations {
		if r.Binding == binding && r.Asker == from {
			r.Used, r.Claims, r.ClaimedAt = r.Used+1, r.Claims-1, w.now
			w.plane.reservations[id] = r
			w.OnClaim(datapath.ClaimEvent{ID: id, At: w.now, Left: r.Claims, Used: r.Used, Client: from})
			return
		}
	}
}

// flushForget drops what the disk is to have: a simulation has none.
func (k *keeper) flushForget() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	clear(k.dirty)
}

// Attackers.
func oneAsker(int) netip.Addr     { return netip.AddrFrom4([4]byte{192, 0, 2, 1}) }
func thirtyOf24(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(n % 30)}) }
func thousand24s(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, byte(n % 1000 >> 8), byte(n % 1000), 7})
}

var attackers = map[string]func(int) netip.Addr{"1 address": oneAsker, "30 of a /24": thirtyOf24, "1,000 /24s": thousand24s}

func percent(n float64) string { return fmt.Sprintf("%.1f", 100*n) }
