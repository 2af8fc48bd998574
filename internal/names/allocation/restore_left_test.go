package allocation

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

func (w *world) addressOf(s pool.Service) (at netip.Addr) {
	for _, p := range w.Places() {
		if p.Service.Name == s.Name {
			at = p.Address
		}
	}
	return at
}

// An address that is in no pool when a daemon starts rests: should a later start find it in the pool again it is its last
// service's, or nobody's.
func TestAddressesThatLeftRestOverStarts(t *testing.T) {
	for _, adopted := range []bool{true, false} {
		w := newWorld(t, 2, webs(2))
		w.mustAsk(client, web(1))
		w.mustAsk(client, web(2))
		w.claim()
		begin := func(size int, services named) {
			w.size, w.services = size, services
			if !adopted {
				w.plane = newPlane()
			}
			w.begin(adopted)
		}
		left := netip.AddrFrom4([4]byte{198, 18, 0, 1})
		var gone, stays pool.Service
		for _, s := range webs(2) {
			if w.addressOf(s) == left {
				gone = s
			} else {
				stays = s
			}
		}
		begin(1, webs(2))
		begin(2, named{stays, web(3)})
		if address, err := w.ask(client, web(3)); !errors.Is(err, nameserver.ErrExhausted) {
			t.Errorf("adopted %t: %s, %v, though %s was of another", adopted, address, err, left)
		}
		begin(2, named{stays, gone})
		if address := w.mustAsk(client, gone); address != left {
			t.Errorf("adopted %t: %s, before %s", adopted, address, left)
		}
	}
}

// What rests is taken up beside all that stands, and goes on when its service is back.
func TestWhatRestsIsTakenUpBesideTheAdopted(t *testing.T) {
	w := newWorld(t, 5, webs(5))
	for _, s := range webs(5) {
		w.mustAsk(client, s)
	}
	w.claim()
	before := w.addressOf(web(5))
	w.services = webs(4)
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	w.keeper.flush()
	w.begin(true)
	w.services = webs(5)
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	if address := w.mustAsk(client, web(5)); address != before {
		t.Errorf("%s, before %s", address, before)
	}
}

// A service that a reload takes away leaves answers behind, which come to their ends: clients come by them, or nobody does.
func TestAnswersOutliveTheirServices(t *testing.T) {
	for what, comes := range map[string]func(w *world){
		"nobody comes":         func(*world) {},
		"told of who comes":    func(w *world) { w.claim() },
		"not told of who came": func(w *world) { w.comesUntold() },
	} {
		for left := range 2 { // services
			w := newWorld(t, 2, webs(2))
			w.mustAsk(client, web(1))
			w.services = webs(left)
			if err := w.Configure(w.config()); err != nil {
				t.Fatal(err)
			}
			comes(w)
			w.pass(time.Minute)
			for r := range w.pool.Reservations.All() {
				t.Errorf("%s, %d left: the answer for %s is %s", what, left, r.Name, r.State)
			}
		}
	}
}

func (w *world) comesUntold() {
	for id, r := range w.plane.reservations {
		r.Used, r.ClaimedAt = 1, w.now
		w.plane.reservations[id] = r
	}
}
