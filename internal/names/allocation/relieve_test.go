package allocation

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Who keeps places by nothing but sessions loses those beyond the share, the longest silent first; places that others
// use, too, stay, and nobody loses anything while every name has an address.
func TestSessionsAloneKeepNoMoreThanAShare(t *testing.T) {
	w := newWorld(t, 8, webs(9))
	hog := netip.MustParseAddr("203.0.113.5")
	session := func(from netip.Addr, to netip.Addr, idle time.Duration, state string) {
		w.plane.standing = append(w.plane.standing, datapath.Session{
			Protocol: model.TCP, Remote: netip.AddrPortFrom(from, 4000), External: netip.AddrPortFrom(to, 80), Origin: "pool", State: state, Idle: idle,
		})
	}
	for n := 1; n <= 8; n++ {
		w.mustAsk(stranger(n), web(n))
	}
	w.claim()
	w.pass(rest + time.Second) // nobody but them keeps the places
	for i, p := range w.Places() {
		from := hog
		w.plane.used[p.ID], w.plane.sessions[p.ID] = w.now, 1 // they are opened again and again
		if i == 7 {
			session(client, p.Address, time.Hour, "established") // others use it, too
		}
		session(from, p.Address, time.Duration(i)*time.Minute, "established")
		session(stranger(i), p.Address, 0, "rst") // has ended
	}
	if err := w.relieve(); err != nil || len(w.plane.standing) != 17 {
		t.Fatalf("without need %d sessions are left, %v", len(w.plane.standing), err)
	}
	_, _ = w.ask(stranger(1), web(9))
	if err := w.relieve(); err != nil {
		t.Fatal(err)
	}
	left := map[netip.Addr]bool{}
	for _, s := range w.plane.standing {
		if s.Remote.Addr() == hog {
			left[s.External.Addr()] = true
		}
	}
	resting := 0
	for i, p := range w.Places() {
		if p.State.String() == "resting" {
			resting++
		}
		if kept := i < 2 || i == 7; left[p.Address] != kept { // a quarter of 8, and the shared one
			t.Errorf("%s, silent for %d minutes: it keeps it: %v", p.Address, i, left[p.Address])
		}
	}
	if resting != 5 {
		t.Errorf("%d bindings rest", resting)
	}
	w.pass(rest + time.Second)
	if _, err := w.ask(stranger(1), web(9)); err != nil {
		t.Errorf("after the rest: %v", err)
	}
}

// What others were answered with stays theirs, whoever has the only sessions there just now: those do not keep it from
// moving, its rest does.
func TestReliefLeavesWhatHasNotRested(t *testing.T) {
	w := newWorld(t, 4, webs(5))
	hog := netip.MustParseAddr("203.0.113.5")
	for n := 1; n <= 4; n++ {
		w.mustAsk(hog, web(n))
	}
	w.claim()
	for _, p := range w.Places() {
		w.plane.standing = append(w.plane.standing, datapath.Session{
			Protocol: model.TCP, Remote: netip.AddrPortFrom(hog, 4000), External: netip.AddrPortFrom(p.Address, 80), Origin: "pool", State: "established",
		})
		w.plane.sessions[p.ID] = 1
	}
	if _, err := w.ask(stranger(1), web(5)); !errors.Is(err, nameserver.ErrExhausted) {
		t.Fatal(err)
	}
	if err := w.relieve(); err != nil || len(w.plane.standing) != 4 {
		t.Errorf("sessions of services in use were ended: %d of 4 are left, %v", len(w.plane.standing), err)
	}
	w.pass(10 * time.Minute)
	given := w.mustAsk(stranger(2), web(1))
	w.pass(rest - 10*time.Minute + time.Second)
	_, _ = w.ask(stranger(1), web(5))
	if err := w.relieve(); err != nil {
		t.Error(err)
	}
	if b, ok := w.pool.Standing(web(1).Name); !ok || b.Address != given {
		t.Error("a client was answered with a place that is withdrawn under it")
	}
}

// Who is alone with more places than its share, by sessions and by asking again before they rest, is answered no more for
// those beyond it.
func TestPlacesAskedForAgainAreNotKept(t *testing.T) {
	w := newWorld(t, 8, webs(9))
	hog := netip.MustParseAddr("203.0.113.5")
	for n := 1; n <= 8; n++ {
		w.mustAsk(hog, web(n))
		w.claim()
	}
	for _, p := range w.Places() {
		w.plane.standing = append(w.plane.standing, datapath.Session{
			Protocol: model.TCP, Remote: netip.AddrPortFrom(hog, 4000), External: netip.AddrPortFrom(p.Address, 80), Origin: "pool", State: "established",
		})
		w.plane.sessions[p.ID] = 1
	}
	served := 0
	for round := range 6 { // an hour
		w.pass(10 * time.Minute)
		if _, err := w.ask(stranger(round), web(9)); err == nil {
			served++
		}
		for n := 1; n <= 8; n++ {
			_, _ = w.ask(hog, web(n))
			w.claim()
		}
		if err := w.relieve(); err != nil {
			t.Fatal(err)
		}
	}
	if served < 4 {
		t.Errorf("%d of 6 others served", served)
	}
}
