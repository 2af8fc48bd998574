package edge

import (
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// A peer asks so often a second, and less often for what it does not get; another is not held back by it.
func TestOpensArePaced(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, func(_, b *testEdge) {
		nested(b)
		b.c.Quotas.Opens, b.c.Quotas.Refused = 10, 3
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Now = func() model.Instant { return 1 << 40 } // no token comes
	ask := func(peer, from, to model.Name) wire.Message {
		m := wire.Open{ID: 1, From: from, To: to, Tag: 77, Host: 1, Round: 1}
		m.Offer.Name = "full"
		return far{b.Service}.answer(b.peerNamed(peer), m)
	}
	count := func(peer, from, to model.Name) (got map[wire.Refusal]int) {
		got = map[wire.Refusal]int{}
		for i := range 30 {
			answer := ask(peer, model.Name(fmt.Sprintf("h%d.%s", i, from)), to)
			r, _ := answer.(wire.Refuse)
			got[r.Reason]++
		}
		return got
	}
	if got := count("edge.a.example.", "a.example.", "hostb.b.example."); got[""] != 10 || got[wire.RefusedQuota] != 20 {
		t.Errorf("opens: %v", got)
	}
	if got := count("edge.elsewhere.", "example.", "none.b.example."); got[wire.RefusedName] != 3 || got[wire.RefusedQuota] != 27 {
		t.Errorf("refused: %v", got)
	}
	b.Quotas.Opens = 11
	if got := count("edge.a.example.", "a.example.", "hostb.b.example."); got[""] != 11 {
		t.Errorf("a larger quota is not followed: %v", got)
	}
}
