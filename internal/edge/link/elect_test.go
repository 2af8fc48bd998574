package link

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// both makes two edges that have each other's address, on a network.
func both(t testing.TB) (a, b *edge, n *network) {
	t.Helper()
	a, b, n = newEdge(t, 1), newEdge(t, 2), newNetwork()
	n.join(a, b)
	a.knows(b)
	b.knows(a)
	a.answer, b.answer = accepts, accepts
	n.delay = func() time.Duration { return time.Millisecond } // all are listening by then
	return a, b, n
}

// Both dial at the same time, a hundred times, with asks under way from both sides: one connection stays, the same for both, each
// ask is answered, and none is heard twice (the predecessor's defect 6); nor is another message lost.
func TestBothDial(t *testing.T) {
	t.Parallel()
	crossed := 0
	for round := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			a, b, n := both(t)
			order := rand.New(rand.NewPCG(round, 9)) //nolint:gosec // a test's
			var scheduler sync.Mutex
			n.delay = func() time.Duration {
				scheduler.Lock()
				defer scheduler.Unlock()
				return time.Duration(1+order.IntN(3)) * time.Millisecond
			}
			stopA, stopB := a.start(t), b.start(t)
			const asks = 20
			var asking sync.WaitGroup
			for i := 1; i <= asks; i++ {
				for from, to := range map[*edge]*edge{a: b, b: a} {
					pause(t.Context(), n.delay())
					asking.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), testWait)
						defer cancel()
						got, err := from.Ask(ctx, to.name, open(i))
						if accept, is := got.(wire.Accept); err != nil || !is || accept.Tag != wire.Tag(i+1) {
							t.Errorf("round %d: ask %d of %s: %+v, %v", round, i, from.name, got, err)
						}
						if err := from.Send(to.name, wire.Leave{Reason: strconv.Itoa(i)}); err != nil {
							t.Errorf("round %d: %s cannot send with the link there: %v", round, from.name, err)
						}
					})
				}
			}
			asking.Wait()
			pause(t.Context(), 3*testWait) // what drains has drained
			synctest.Wait()
			for e, other := range map[*edge]*edge{a: b, b: a} {
				p := e.peer(other.name)
				p.mu.Lock()
				if p.link == nil || p.spare != nil || len(p.asks) != 0 || p.underway != 0 {
					t.Errorf("round %d: %s: link %v, spare %v, %d asks, %d under way", round, e.name, p.link, p.spare, len(p.asks), p.underway)
				}
				p.mu.Unlock()
				seen := map[string]int{}
				e.mu.Lock()
				messages := e.messages
				e.mu.Unlock()
				for _, m := range messages {
					switch m := m.(type) {
					case wire.Open:
						seen["ask "+strconv.Itoa(int(m.Tag))]++
					case wire.Leave:
						seen["message "+m.Reason]++
					}
				}
				for i := 1; i <= asks; i++ {
					for _, what := range []string{"ask ", "message "} {
						if what += strconv.Itoa(i); seen[what] != 1 {
							t.Errorf("round %d: %s has heard %s %d times", round, e.name, what, seen[what])
						}
					}
				}
				for _, what := range e.calls() {
					if what[:2] != "up" {
						t.Errorf("round %d: %s was told %v: the link was there all the time", round, e.name, e.calls())
					}
				}
			}
			if a.States()[0].Dialled == b.States()[0].Dialled {
				t.Errorf("round %d: the two ends keep two connections", round)
			}
			n.mu.Lock()
			if len(n.conns) > 2 {
				crossed++
				if !a.States()[0].Dialled {
					t.Errorf("round %d: the connection stays that the greater name has dialled", round)
				}
			}
			n.mu.Unlock()
			sameKeys(t, a, b)
			stopA()
			stopB()
		})
	}
	if crossed < 20 {
		t.Errorf("in %d rounds both have dialled: the test shows nothing", crossed)
	}
	t.Logf("both dialled in %d of 100 rounds", crossed)
}

func sameKeys(t *testing.T, a, b *edge) {
	t.Helper()
	one, err := a.keys.Key(true, 5)
	other, errB := b.keys.Key(false, 5)
	if err != nil || errB != nil || one != other {
		t.Errorf("the handlers have keys of two connections: %x, %x, %v, %v", one, other, err, errB)
	}
}

// An ask outlives the connection it was sent on: it is sent again on the next one, and the peer, which has answered it, says the
// same again and negotiates nothing twice.
func TestAskSurvivesALink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		b.peers[0].Address = netip.AddrPort{}
		heard := make(chan wire.Open, 10)
		b.answer = func(_ *edge, _ model.Name, m wire.Message) { heard <- m.(wire.Open) }
		stopA, stopB := a.start(t), b.start(t)
		a.await(t, "up", func() bool { return a.keys != nil })
		got := make(chan wire.Message, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			m, err := a.Ask(ctx, b.name, open(7))
			if err != nil {
				t.Error(err)
			}
			got <- m
		}()
		o := <-heard
		n.breakAll()
		b.await(t, "down", func() bool { return len(b.told) > 1 })
		if err := b.Send(a.name, wire.Accept{ID: o.ID, Tag: 8}); err == nil { // no link: it is kept for when it is asked again
			t.Error("sent without a link")
		}
		m := <-got
		if accept, is := m.(wire.Accept); !is || accept.Tag != 8 {
			t.Errorf("answer %+v", m)
		}
		if len(b.messages) != 1 {
			t.Errorf("the open was heard %d times", len(b.messages))
		}
		stopA()
		stopB()
	})
}
