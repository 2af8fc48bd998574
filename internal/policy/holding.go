package policy

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// ErrShare says that the asker keeps its share of the pool from others already, by answers that nobody used.
var ErrShare = errors.New("share of unused answers reached")

// halfPool times a reputation is the share of the pool's addresses that one party may keep unused: a
// quarter for a newcomer, half for who uses all that it asks for, and always one address.
const halfPool = 0.5

// subnetBits is the prefix that is bounded beside each address of it: who has one address of a /24 often has more.
const subnetBits = 24

// held is what one party keeps of one binding.
type held struct {
	party   netip.Prefix
	binding uint64
}

// Holdings knows which bindings an answer keeps from others though no client has used it: until the client comes,
// or the binding has rested. A binding is known by its ID, which is never used twice. Both the asker's address and
// its /24 are accounted.
type Holdings struct {
	until *table[held, model.Instant]
	count map[netip.Prefix]int // of parties in until
}

// NewHoldings makes Holdings in which nobody holds anything. It remembers TableSize holdings; of more the one that
// was renewed longest ago is forgotten.
func NewHoldings() *Holdings {
	return &Holdings{until: newTable[held, model.Instant](TableSize), count: map[netip.Prefix]int{}}
}

// parties are who is accounted for an asker.
func parties(asker netip.Addr) [2]netip.Prefix {
	own, _ := asker.Prefix(asker.BitLen())
	subnet, _ := asker.Prefix(subnetBits)
	return [2]netip.Prefix{own, subnet}
}

// Share is how many of the pool's addresses a party with the reputation may hold.
func Share(addresses int, reputation float64) int {
	return max(1, int(float64(addresses)*reputation*halfPool))
}

// Allows returns nil if the asker may hold the binding: it holds fewer than its share, or its share with this one among
// it. Who holds more, as the answers were on their way at once, may have none until enough of them are over.
func (h *Holdings) Allows(now model.Instant, asker netip.Addr, binding uint64, share int) error {
	h.expire(now)
	for _, p := range parties(asker) {
		if n := h.count[p]; n > share || n == share && h.until.get(held{p, binding}) == nil {
			return fmt.Errorf("admit %s: %w: %d of %d addresses", p, ErrShare, h.count[p], share)
		}
	}
	return nil
}

// Hold notes that an answer to the asker keeps the binding until then.
func (h *Holdings) Hold(asker netip.Addr, binding uint64, until model.Instant) {
	for _, p := range parties(asker) {
		if len(h.until.index) == TableSize && h.until.get(held{p, binding}) == nil {
			h.forget(h.until.nodes[h.until.oldest].key)
		}
		at, fresh := h.until.use(held{p, binding})
		if fresh {
			h.count[p]++
		}
		*at = max(*at, until)
	}
}

// Renew notes another answer to the asker: what it holds of the binding it holds until then. Otherwise all it holds could
// be over before it is known that nobody uses this answer either, and it would begin anew with many at once.
func (h *Holdings) Renew(asker netip.Addr, binding uint64, until model.Instant) {
	for _, p := range parties(asker) {
		if h.until.get(held{p, binding}) == nil {
			continue
		}
		at, _ := h.until.use(held{p, binding})
		*at = max(*at, until)
	}
}

// Release notes that a client of the asker used the binding.
func (h *Holdings) Release(asker netip.Addr, binding uint64) {
	for _, p := range parties(asker) {
		h.forget(held{p, binding})
	}
}

// expire forgets what has rested. Holdings are renewed about in the order in which they end: all are noted for the
// same time.
func (h *Holdings) expire(now model.Instant) {
	for h.until.oldest >= 0 && h.until.nodes[h.until.oldest].value <= now {
		h.forget(h.until.nodes[h.until.oldest].key)
	}
}

func (h *Holdings) forget(k held) {
	if !h.until.remove(k) {
		return
	}
	if h.count[k.party]--; h.count[k.party] == 0 {
		delete(h.count, k.party)
	}
}
