package allocation

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/nameserver"
)

// Each service has its address from the start, and keeps it whoever asks; an answer for it takes nothing.
func TestServicesKeepTheirAddress(t *testing.T) {
	w := newWorld(t, 4, webs(4))
	if n := len(w.plane.bindings); n != 4 {
		t.Fatalf("%d bindings are in the data plane at the start", n)
	}
	first := w.mustAsk(client, web(1))
	for n := range 200 {
		w.pass(time.Second)
		if got := w.mustAsk(stranger(n), web(1)); got != first {
			t.Fatalf("question %d: %s, before %s", n, got, first)
		}
	}
	if s, _ := w.Statistics(); s.Moved != 0 || s.Bindings != 4 {
		t.Errorf("%+v", s)
	}
}

// A binding is installed before its reservation, and both before the answer (I6). What cannot be installed is answered
// with nothing, and nothing is left of it.
func TestInstalledBeforeAnswered(t *testing.T) {
	w := newWorld(t, 1, webs(2))
	w.pass(rest + time.Second)
	w.plane.order = nil
	w.mustAsk(client, web(2))
	if got := strings.Join(w.plane.order, ", "); got != "unbind 198.18.0.0 10.0.0.1, bind 198.18.0.0 10.0.0.2, reserve" {
		t.Errorf("the order was %s", got)
	}
	w.plane.refuses = errNo
	w.pass(2*rest + time.Second)
	if _, err := w.ask(client, web(1)); !errors.Is(err, nameserver.ErrFailed) {
		t.Errorf("a binding that the data plane refuses: %v", err)
	}
	if s, _ := w.Statistics(); s.Bindings != 0 || s.Active != 0 {
		t.Errorf("%+v is left of it", s)
	}
	w.plane.refuses = nil
	if _, err := w.ask(client, web(1)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// The same asker gets the same reservation with one more claim; once the data plane has given the last away unheard,
// another.
func TestRepeats(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	w.mustAsk(client, web(1))
	w.mustAsk(client, web(1))
	if len(w.plane.reservations) != 1 {
		t.Fatalf("%d reservations for two questions", len(w.plane.reservations))
	}
	for id, r := range w.plane.reservations {
		if r.Claims != 2 {
			t.Errorf("%d claims for two questions", r.Claims)
		}
		delete(w.plane.reservations, id) // its claims were used, and the event was lost
	}
	w.mustAsk(client, web(1))
	if len(w.plane.reservations) != 1 {
		t.Errorf("%d reservations after the first was spent", len(w.plane.reservations))
	}
}

// A resolver's clients have shaken hands by a reservation that is followed by another: there is one at every moment.
func TestNextReservationBeforeTheSpentOneGoes(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	w.mustAsk(client, web(1))
	for id := range w.plane.reservations {
		w.plane.spent = id
	}
	w.plane.order = nil
	w.mustAsk(client, web(1))
	if got := strings.Join(w.plane.order, ", "); got != "reserve, withdraw" {
		t.Errorf("the order was %s", got)
	}
	if s, _ := w.Statistics(); s.Active != 1 {
		t.Errorf("%d reservations stand", s.Active)
	}
}

// With more names than addresses a place goes to the one asked for when it has rested, never before.
func TestPlacesMoveOnlyWhenRested(t *testing.T) {
	w := newWorld(t, 2, webs(3))
	had := map[int]bool{}
	for n := 1; n <= 2; n++ {
		w.mustAsk(client, web(n))
		had[n] = true
	}
	w.claim()
	for range 12 {
		w.pass(rest / 14)
		if _, err := w.ask(stranger(1), web(3)); !errors.Is(err, nameserver.ErrExhausted) {
			t.Fatalf("%s after the last use: %v", w.now.Sub(start), err)
		}
		w.now += 1e9 // the same question counts once a second
	}
	if w.told[0] != "exhausted" {
		t.Errorf("told %v", w.told)
	}
	if _, c := w.Statistics(); c.Exhausted != 12 {
		t.Errorf("%d refused questions are counted", c.Exhausted)
	}
	w.pass(rest)
	w.mustAsk(stranger(1), web(3))
	w.pass(calm + time.Second)
	if w.told[len(w.told)-1] != "recovered" {
		t.Errorf("told %v", w.told)
	}
}

// A resolver repeats what fails: within a second that is one question.
func TestRepeatedRefusalsCountOnce(t *testing.T) {
	w := newWorld(t, 1, webs(3))
	w.mustAsk(client, web(1))
	for range 5 {
		_, _ = w.ask(stranger(1), web(2))
	}
	_, _ = w.ask(stranger(1), web(3))
	_, _ = w.ask(stranger(2), web(3))
	if _, c := w.Statistics(); c.Exhausted != 3 {
		t.Errorf("%d are counted, want 3", c.Exhausted)
	}
	if _, err := w.ask(stranger(1), web(1)); err != nil {
		t.Errorf("a name that has its address: %v", err)
	}
}

// Who asks for names and never comes keeps no more than its share of a pool that has fewer addresses than names.
func TestUnusedAnswersAreBounded(t *testing.T) {
	w := newWorld(t, 16, webs(64))
	w.pass(rest + time.Second)
	got := 0
	for n := 17; n <= 64; n++ {
		if _, err := w.ask(client, web(n)); err == nil {
			got++
		} else if !errors.Is(err, nameserver.ErrRefused) {
			t.Fatal(err)
		}
		w.pass(100 * time.Millisecond)
	}
	if got < 1 || got > 4 {
		t.Errorf("one asker keeps %d of 16 addresses", got)
	}
	if _, c := w.Statistics(); c.Shared+c.Distrusted == 0 {
		t.Error("nothing is counted")
	}
	if _, err := w.ask(stranger(1), web(64)); err != nil {
		t.Errorf("somebody else: %v", err)
	}
}

// Nobody is bounded while every service has its address.
func TestNobodyIsBoundedWithRoom(t *testing.T) {
	w := newWorld(t, 16, webs(16))
	for range 20 {
		for n := range w.services {
			w.mustAsk(client, w.services[n])
		}
		w.pass(10 * time.Second)
	}
}

// An answer by which a known client came, who claims nothing, is not held against its asker.
func TestKnownClientsUseAnswers(t *testing.T) {
	w := newWorld(t, 4, webs(6))
	w.pass(rest + time.Second)
	for range 3 {
		for n := 1; n <= 4; n++ {
			w.mustAsk(client, web(n))
			if b, ok := w.pool.Standing(web(n).Name); ok {
				w.plane.used[b.ID] = w.now.Add(time.Millisecond)
			}
			w.pass(10 * time.Second)
		}
	}
	if _, c := w.Statistics(); c.Shared+c.Distrusted > 0 {
		t.Errorf("%d refused by share, %d by reputation", c.Shared, c.Distrusted)
	}
}

// Over TCP who has reached its share waits a moment for its clients: a resolver's answers are on their way.
func TestWhoHasItsShareWaits(t *testing.T) {
	w := newWorld(t, 4, webs(6))
	c := w.config()
	c.Wait = 10 * time.Second
	if err := w.Configure(c); err != nil {
		t.Fatal(err)
	}
	w.pass(rest + time.Second)
	w.mustAsk(client, web(5)) // in place of another, and unused
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.keeper.run(ctx)
	go func() {
		_, err := w.Allocate(ctx, nameserver.Question{
			Name: web(6).Name, Client: netip.AddrPortFrom(client, 53), Transport: nameserver.TCP, Verified: true, ID: 1 << 32,
		})
		done <- err
	}()
	for waiting := false; !waiting; {
		w.mutex.Lock()
		waiting = len(w.line) > 0
		w.mutex.Unlock()
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	w.claim()
	w.advance()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Names that others use are answered to everybody behind a resolver, whatever one of them has asked for in vain.
func TestOneClientOfAResolverLocksNobodyOut(t *testing.T) {
	w := newWorld(t, 16, webs(64))
	resolver := netip.MustParseAddr("192.0.2.53")
	w.mustAsk(stranger(1), web(1))
	w.claim()
	w.pass(rest + time.Second)
	unused := 0
	for n := 20; n < 40; n++ {
		if _, err := w.ask(resolver, web(n)); err == nil {
			unused++
		}
		w.pass(100 * time.Millisecond)
	}
	if unused == 20 {
		t.Fatal("there is no share: the test shows nothing")
	}
	w.pass(10 * time.Second) // nobody used those
	for n := range 12 {
		w.mustAsk(stranger(n), web(1))
		w.claim()
		w.pass(time.Minute)
		if _, err := w.ask(resolver, web(1)); err != nil {
			t.Fatalf("after %d minutes: %v", n+1, err)
		}
		w.claim()
	}
}
