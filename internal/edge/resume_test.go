package edge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Pacts of long names take more than one message, and none of them is lost: a second resume would end what the first has left out.
func TestLongNamesAreResumed(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, func(a, b *testEdge) {
		a.c.Quotas.PerHost, a.c.Quotas.PerEdge, b.c.Quotas.PerEdge = 400, 400, 400
	})
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	label := strings.Repeat("x", 60)
	a.mu.Lock()
	for n := range 300 {
		k := pact.Key{Host: hostA, Local: "hosta.a.example.", Remote: model.Name(fmt.Sprintf("h%d.%s.%s.%s.b.example.", n, label, label, label))}
		p, _, err := a.pacts.Open(a.Now(), k, "edge.b.example.")
		if err == nil {
			_, err = a.pacts.Settle(a.Now(), p.Number, uint32(n+1000), pact.Agreed{Terms: policy.Widest, Out: true, Until: a.Now().Add(a.Hold)})
		}
		if err != nil {
			a.mu.Unlock()
			t.Fatal(err)
		}
	}
	far{a.Service}.sayPacts("edge.b.example.")
	a.mu.Unlock()
	eventually(t, "b has none of them, and says so of each", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		live := 0
		for p := range a.pacts.All() {
			if p.State == pact.Live {
				live++
			}
		}
		return live == 1
	})
	if len(b.plane.all()) != 1 {
		t.Error("what both have has ended")
	}
}

// A peer that lists the same again and again takes no memory by it.
func TestResumeWithoutEnd(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	at := b.plane.all()[0]
	m := wire.Resume{Pacts: []wire.Kept{{Pair: wire.Pair{Mine: wire.Tag(at.Peer), Yours: wire.Tag(at.Own)}, From: "hosta.a.example.", To: "hostb.b.example."}}, More: true}
	for range 100 {
		far{b.Service}.Heard("edge.a.example.", m)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if has := b.peerNamed("edge.a.example.").has; len(has) != 1 {
		t.Errorf("%d are kept of one", len(has))
	}
}
