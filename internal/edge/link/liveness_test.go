package link

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// A peer that is gone without a word is down after three pings, and dialled again: each second at first, each minute at last, each
// four seconds where pacts of it live.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	for _, pacts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b, n := both(t)
			b.peers[0].Address = netip.AddrPort{}
			a.options.Pacts = func(model.Name) bool { return pacts }
			stopA, stopB := a.start(t), b.start(t)
			a.await(t, "up", func() bool { return len(a.told) == 1 })
			passes(t, time.Hour)
			if len(a.calls()) != 1 || a.States()[0].RTT < 0 {
				t.Fatalf("in an hour without a message: told %v, %+v", a.calls(), a.States())
			}
			n.mu.Lock()
			n.cut, n.dials = true, nil
			n.mu.Unlock()
			began := time.Now()
			n.vanish(b)
			a.await(t, "down", func() bool { return len(a.told) == 2 })
			if took := time.Since(began); took < 20*time.Second || took > 41*time.Second {
				t.Errorf("down after %v, want three missed pings of 10 s each", took)
			}
			if s := a.States()[0]; s.Up || s.Error != ErrSilent.Error() {
				t.Errorf("state %+v", s)
			}
			passes(t, 30*time.Minute)
			var gaps []time.Duration
			for i, at := range n.dials[1:] {
				gaps = append(gaps, at.Sub(n.dials[i]))
			}
			least, most := 40*time.Second, time.Minute
			if pacts {
				least, most = 3*time.Second, 4*time.Second
			}
			if gaps[0] > 3*time.Second || slices.Max(gaps) > most+10*time.Millisecond || slices.Min(gaps[8:]) < least {
				t.Errorf("pacts %v: pauses between attempts %v, want from 1 s to %v", pacts, gaps[:12], most)
			}
			n.mu.Lock()
			n.cut = false
			n.mu.Unlock()
			a.await(t, "up again", func() bool { return len(a.told) == 3 })
			stopA()
			stopB()
		})
	}
}

// Somebody who asks does not wait for the next attempt, and learns at once when it fails.
func TestAskDials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		n.cut = true
		b.peers[0].Address = netip.AddrPort{}
		stopA, stopB := a.start(t), b.start(t)
		passes(t, 10*time.Minute)
		began := time.Now()
		if _, err := a.Ask(t.Context(), b.name, open(1)); err == nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("with nobody there: %v after %v", err, time.Since(began))
		}
		n.cut = false
		if _, err := a.Ask(t.Context(), b.name, open(2)); err != nil || time.Since(began) > 200*time.Millisecond {
			t.Errorf("with the peer back: %v after %v", err, time.Since(began))
		}
		if _, err := b.Ask(t.Context(), a.name, open(3)); err != nil {
			t.Errorf("the other way: %v", err)
		}
		n.vanish(a)
		n.vanish(b)
		b.await(t, "down", func() bool { return slices.Contains(b.told, "down "+a.name.String()) })
		stopA()
		if _, err := b.Ask(t.Context(), a.name, open(4)); err == nil {
			t.Error("a peer without an address that is not there has answered")
		}
		stopB()
	})
}

// The side with the greater name has lost the link, unknown to the other: its own connection becomes the link when the old one does
// not answer; or at once, where the peer is another process. Nobody is told Down meanwhile.
func TestLostByOneSide(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b, n := both(t)
			stopA, stopB := a.start(t), b.start(t)
			passes(t, time.Minute)
			if restarted {
				made := b.options.Hello
				b.o.Hello = func(p model.Name, k Keys) (wire.Hello, error) {
					h, err := made(p, k)
					h.Process = fmt.Sprintf("%016x", 77)
					return h, err
				}
			}
			ups := len(a.calls())
			n.vanish(b)
			began := time.Now()
			a.await(t, "up again", func() bool { return len(a.told) > ups })
			took := time.Since(began)
			if most := redialLeast*6/5 + courtesy + 10*time.Millisecond; restarted && took > most || took > most+testWait {
				t.Errorf("restarted %v: another connection is the link after %v", restarted, took)
			}
			if slices.Contains(a.calls(), "down "+b.name.String()) {
				t.Errorf("told %v", a.calls())
			}
			for from, to := range map[*edge]*edge{a: b, b: a} {
				if _, err := from.Ask(t.Context(), to.name, open(5)); err != nil {
					t.Errorf("restarted %v: %s asks: %v", restarted, from.name, err)
				}
			}
			sameKeys(t, a, b)
			stopA()
			stopB()
		})
	}
}

// Where both have lost the link and know it, one dials, not both.
func TestOneDialsAgain(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		synctest.Test(t, func(t *testing.T) {
			a, b, n := both(t)
			n.way, n.delay = 50*time.Millisecond, func() time.Duration { return 100 * time.Millisecond }
			stopA, stopB := a.start(t), b.start(t)
			passes(t, time.Minute+time.Duration(round)*time.Second)
			n.breakAll()
			passes(t, 4*time.Second)
			n.mu.Lock()
			if ends := len(n.conns); ends != 2 || !a.States()[0].Up || !a.States()[0].Dialled || !b.States()[0].Up {
				t.Errorf("round %d: %d ends of connections, states %+v, %+v", round, ends, a.States(), b.States())
			}
			n.mu.Unlock()
			stopA()
			stopB()
		})
	}
}

// A peer that is taken out of the configuration, or has another key there, has no link any more; others keep theirs.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		c := newEdge(t, 3)
		n.join(c)
		c.knows(a)
		stopC := c.start(t)
		a.knows(c)
		stopA, stopB := a.start(t), b.start(t)
		passes(t, time.Minute)
		configure := func(change func()) {
			a.mu.Lock()
			a.told = nil
			change()
			a.mu.Unlock()
			a.Follow()
			passes(t, time.Second/2)
		}
		key := a.peers[0].Pins
		configure(func() { a.peers[0].Pins = [][32]byte{{1}} })
		if !slices.Equal(a.calls(), []string{"down " + b.name.String()}) {
			t.Errorf("with another key for b: told %v", a.calls())
		}
		configure(func() { a.peers[0].Pins = key })
		passes(t, time.Minute)
		if !slices.Equal(a.calls(), []string{"up " + b.name.String()}) {
			t.Errorf("with its key again: told %v", a.calls())
		}
		configure(func() { a.peers = a.peers[1:] })
		if s := a.States(); !slices.Equal(a.calls(), []string{"down " + b.name.String()}) || len(s) != 1 || !s[0].Up {
			t.Errorf("without b: told %v, states %+v", a.calls(), s)
		}
		if err := a.Send(b.name, wire.Leave{}); err == nil {
			t.Error("sent to nobody")
		}
		stopA()
		stopB()
		stopC()
	})
}

// What was sent before the end is written: the peer learns why.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := both(t)
		stopA, stopB := a.start(t), b.start(t)
		passes(t, time.Second)
		for range 100 {
			if err := a.Send(b.name, wire.Leave{Reason: "stopping"}); err != nil {
				t.Fatal(err)
			}
		}
		stopA()
		if told := a.calls(); told[len(told)-1] != "down "+b.name.String() {
			t.Errorf("told %v", told)
		}
		synctest.Wait()
		if len(b.messages) != 100 {
			t.Errorf("%d of 100 messages were heard", len(b.messages))
		}
		a.Follow()
		if _, err := a.Ask(t.Context(), b.name, open(1)); err == nil {
			t.Error("an ask after the end")
		}
		stopB()
	})
}
