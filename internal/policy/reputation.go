package policy

import (
	"math"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// FirstReputation is that of a party never seen.
const FirstReputation = 0.5

// Period is the time in which an outcome loses half its weight.
const Period = 20 * time.Second

// firstWeight is how many outcomes the first impression counts as: one
// abandoned reservation costs a newcomer a tenth, not everything.
const firstWeight = 4

// record counts the outcomes of one party, weighted by age as of since.
type record struct {
	claimed, abandoned float64
	since              model.Instant
}

func (r *record) age(now model.Instant) {
	if now > r.since {
		share := math.Exp2(-float64(now.Sub(r.since)) / float64(Period))
		r.claimed, r.abandoned, r.since = r.claimed*share, r.abandoned*share, now
	}
}

// score is the share of claimed reservations, from 0 to 1: dividing by what was
// judged makes the busy and the quiet comparable.
func (r record) score() float64 {
	return (r.claimed + firstWeight*FirstReputation) / (r.claimed + r.abandoned + firstWeight)
}

// Result is what became of a reservation.
type Result uint8

// The results: some packet came; none came before the expiry; the gateway
// failed, which is nobody's fault.
const (
	Claimed Result = iota
	Abandoned
	Failed
)

// Outcome records what became of a reservation that the asker got. Call it at the
// reservation's change of state, with the instant of that change.
func (a *Admission) Outcome(at model.Instant, asker Asker, result Result) {
	party, ok := asker.party()
	if !ok || !asker.Verified || result > Abandoned {
		return
	}
	judge(a.records, party, at, result)
	if asker.Client.IsValid() {
		judge(a.subnets, asker.Client, at, result)
	}
}

func judge[K comparable](records *table[K, record], party K, at model.Instant, result Result) {
	r, fresh := records.use(party)
	if fresh {
		r.since = at
	}
	r.age(at)
	if result == Claimed {
		r.claimed++
	} else {
		r.abandoned++
	}
}

// Reputation returns the asker's, from 0 to 1: its own or that of its client prefix, whichever is
// less, as who has one address of a prefix often has more.
func (a *Admission) Reputation(now model.Instant, asker Asker) float64 {
	party, ok := asker.party()
	if !ok || !asker.Verified {
		return FirstReputation
	}
	return min(scoreOf(a.records, party, now), scoreOf(a.subnets, asker.Client, now))
}

func scoreOf[K comparable](records *table[K, record], party K, now model.Instant) float64 {
	r := records.get(party)
	if r == nil {
		return FirstReputation
	}
	aged := *r
	aged.age(now)
	return aged.score()
}

// party is who earns the reputation: the resolver, else the client's prefix.
func (k *Asker) party() (netip.Addr, bool) {
	if k.Resolver.IsValid() {
		return k.Resolver, true
	}
	return k.Client.Addr(), k.Client.IsValid()
}
