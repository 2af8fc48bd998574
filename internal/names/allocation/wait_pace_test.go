package allocation

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// A question that waits is tried again every 20 ms, however much else happens: each search has the lock.
func TestWaitingQuestionsAreTriedAtTheirPace(t *testing.T) {
	w := &world{t: t, plane: newPlane(), store: &memory{entries: map[string][]byte{}}, services: webs(2), size: 1}
	began, c := time.Now(), w.config()
	c.Wait = 300 * time.Millisecond
	a, err := New(Options{
		Plane: w.plane, Store: w.store, Events: w, Log: slog.New(slog.DiscardHandler),
		Now: func() model.Instant { return start.Add(time.Since(began)) }, Wall: time.Now,
	}, c, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	defer func() { cancel(); <-done }()
	ask := func(n int, id uint64) error {
		_, err := a.Allocate(ctx, nameserver.Question{
			Name: web(n).Name, Client: netip.AddrPortFrom(stranger(int(id)), 53), Transport: nameserver.TCP, Verified: true, ID: id,
		})
		return err
	}
	if err := ask(1, 1); err != nil {
		t.Fatal(err)
	}
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for id := uint64(2); id < 60; id++ { // reservations kick the timers
			_ = ask(1, id)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if err := ask(2, 1000); !errors.Is(err, nameserver.ErrExhausted) {
		t.Fatal(err)
	}
	<-busy
	if s, _ := a.Statistics(); s.Exhausted > 20 {
		t.Errorf("tried %d times in 300 ms", s.Exhausted)
	}
}

// Of those who wait the first gets what becomes free, not whoever happens to try.
func TestWhoWaitsLongestIsFirst(t *testing.T) {
	w := newWorld(t, 1, webs(4))
	c := w.config()
	c.Wait = time.Minute
	if err := w.Configure(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.keeper.run(ctx)
	w.mustAsk(client, web(1))
	w.claim()
	got := make(chan int)
	for n := 2; n <= 4; n++ {
		go func() {
			_, err := w.Allocate(ctx, nameserver.Question{
				Name: web(n).Name, Client: netip.AddrPortFrom(stranger(n), 53), Transport: nameserver.TCP, Verified: true, ID: uint64(n) << 32,
			})
			if err == nil {
				got <- n
			}
		}()
		stands := false
		for end := time.Now().Add(10 * time.Second); !stands && time.Now().Before(end); time.Sleep(time.Millisecond) {
			w.mutex.Lock()
			stands = len(w.line) == n-1
			w.mutex.Unlock()
		}
		if !stands {
			t.Fatalf("%d does not wait", n)
		}
	}
	for n := 2; n <= 4; n++ {
		w.mutex.Lock()
		w.now = w.now.Add(rest + time.Minute)
		w.mutex.Unlock()
		w.advance()
		if first := <-got; first != n {
			t.Errorf("%d was before %d", first, n)
		}
		w.claim()
	}
}
