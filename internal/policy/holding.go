package policy

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// ErrShare says that the asker alone keeps its share of the pool from others already.
var ErrShare = errors.New("share of the pool reached")

// halfPool times a reputation is the share of the pool's addresses that one party may keep from others: a
// quarter for a newcomer, half for who uses all that it asks for, and always one address.
const halfPool = 0.5

// subnetBits is the prefix that is bounded beside each address of it: who has one address of a /24 often has more.
const subnetBits = 24

// held is what one party keeps of one binding.
type held struct {
	party   netip.Prefix
	binding uint64
}

// Holdings knows which bindings a party keeps from others: by answers that nobody has used, or by being the only one who
// uses them. A binding is known by its ID, which is never used twice. Both the asker's address and its /24 are accounted.
type Holdings struct {
	until    *table[held, model.Instant]
	bindings map[netip.Prefix][]uint64 // of parties in until
	parties  map[uint64][]netip.Prefix // of bindings in until
}

// NewHoldings makes Holdings in which nobody holds anything. It remembers TableSize holdings; of more the one that
// was renewed longest ago is forgotten.
func NewHoldings() *Holdings {
	return &Holdings{until: newTable[held, model.Instant](TableSize), bindings: map[netip.Prefix][]uint64{}, parties: map[uint64][]netip.Prefix{}}
}

// partiesOf are who is accounted for an asker.
func partiesOf(asker netip.Addr) [2]netip.Prefix {
	own, _ := asker.Prefix(asker.BitLen())
	subnet, _ := asker.Prefix(subnetBits)
	return [2]netip.Prefix{own, subnet}
}

// Share is how many of the pool's addresses a party with the reputation may hold.
func Share(addresses int, reputation float64) int {
	return max(1, int(float64(addresses)*reputation*halfPool))
}

// Allows returns nil if the asker may hold the binding: it holds fewer than its share, or this is one of the last that it
// was given within its share. Answers on their way at once may have become more than that: the others have to end.
func (h *Holdings) Allows(now model.Instant, asker netip.Addr, binding uint64, share int) error {
	h.expire(now)
	for _, p := range partiesOf(asker) {
		if n := len(h.bindings[p]); n >= share && h.rank(held{p, binding}) >= share {
			return refuse(ErrShare, "admit %s: %d of %d addresses", p, n, share)
		}
	}
	return nil
}

// rank is how many bindings the party holds for longer than this one; of one that it does not hold, all.
func (h *Holdings) rank(k held) int {
	until := h.until.get(k)
	if until == nil {
		return len(h.bindings[k.party])
	}
	longer := 0
	for _, binding := range h.bindings[k.party] {
		if other := *h.until.get(held{k.party, binding}); other > *until || other == *until && binding < k.binding {
			longer++
		}
	}
	return longer
}

// Hold notes that an answer to the asker, or its use of one, keeps the binding until then.
func (h *Holdings) Hold(asker netip.Addr, binding uint64, until model.Instant) {
	for _, p := range partiesOf(asker) {
		k := held{p, binding}
		if len(h.until.index) == TableSize && h.until.get(k) == nil {
			h.forget(h.until.nodes[h.until.oldest].key)
		}
		at, fresh := h.until.use(k)
		if fresh {
			h.bindings[p] = append(h.bindings[p], binding)
			h.parties[binding] = append(h.parties[binding], p)
		}
		*at = max(*at, until)
	}
}

// Renew notes another answer to the asker: what it holds of the binding it holds until then. Otherwise all it holds could
// be over before it is known that nobody uses this answer either, and it would begin anew with many at once.
func (h *Holdings) Renew(asker netip.Addr, binding uint64, until model.Instant) {
	for _, p := range partiesOf(asker) {
		if h.until.get(held{p, binding}) == nil {
			continue
		}
		at, _ := h.until.use(held{p, binding})
		*at = max(*at, until)
	}
}

// Release notes that a client of the asker used the binding.
func (h *Holdings) Release(asker netip.Addr, binding uint64) {
	for _, p := range partiesOf(asker) {
		h.forget(held{p, binding})
	}
}

// ReleaseOthers notes that a client used the binding: nobody else is alone with it.
func (h *Holdings) ReleaseOthers(client netip.Addr, binding uint64) {
	for _, p := range slices.Clone(h.parties[binding]) {
		if !p.Contains(client) {
			h.forget(held{p, binding})
		}
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
	remove(h.bindings, k.party, k.binding)
	remove(h.parties, k.binding, k.party)
}

// remove takes a value out of the key's list, and a key without any out of the map.
func remove[K, V comparable](lists map[K][]V, key K, value V) {
	list := slices.DeleteFunc(lists[key], func(v V) bool { return v == value })
	if len(list) == 0 {
		delete(lists, key)
		return
	}
	lists[key] = list
}
