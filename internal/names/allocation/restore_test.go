package allocation

import (
	"errors"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

func (w *world) addresses() map[netip.Addr]string {
	had := map[netip.Addr]string{}
	for _, p := range w.Places() {
		had[p.Address] = string(p.Service.Name)
	}
	return had
}

func (w *world) wantAddresses(want map[netip.Addr]string, when string) {
	w.t.Helper()
	got := w.addresses()
	for address, service := range want {
		if got[address] != service {
			w.t.Errorf("%s: %s is of %q, before of %q", when, address, got[address], service)
		}
	}
}

// After kill -9 the data plane says who has which address; after a reboot, whose clock begins anew, the disk does.
func TestEachServiceGetsItsAddressAgain(t *testing.T) {
	w := newWorld(t, 3, webs(5))
	w.pass(rest + time.Second)
	for n := 3; n <= 5; n++ {
		w.mustAsk(stranger(n), web(n))
		w.claim()
	}
	had := w.addresses()
	w.begin(true)
	w.wantAddresses(had, "after kill -9")
	w.plane, w.now = newPlane(), 1
	w.begin(false)
	w.wantAddresses(had, "after a reboot")
	if len(w.plane.bindings) != 3 {
		t.Errorf("%d bindings are installed", len(w.plane.bindings))
	}
	if _, err := w.ask(client, web(1)); !errors.Is(err, nameserver.ErrExhausted) && !hasAddress(had, web(1)) {
		t.Errorf("a place moved before it had rested anew: %v", err)
	}
}

// An answer that nobody has used yet keeps its place over kill -9: the data plane knows of sessions alone.
func TestAnswersRestOverAKill(t *testing.T) {
	w := newWorld(t, 1, webs(2))
	w.pass(rest + time.Second)
	address := w.mustAsk(client, web(1))
	w.pass(7 * time.Second)
	w.begin(true)
	if other, err := w.ask(stranger(1), web(2)); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s: %v", other, err)
	}
	if again := w.mustAsk(client, web(1)); again != address {
		t.Errorf("%s, before %s", again, address)
	}
	w.pass(rest + time.Second)
	w.mustAsk(stranger(1), web(2))
}

// What a reload closed just before kill -9, so that the file does not know it, rests.
func TestWhatWasJustClosedRests(t *testing.T) {
	w := newWorld(t, 1, webs(1))
	w.mustAsk(client, web(1))
	w.services = named{web(2)}
	file := maps.Clone(w.store.entries)
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	w.store.entries = file
	w.begin(true)
	if other, err := w.ask(client, web(2)); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s: %v", other, err)
	}
}

func hasAddress(had map[netip.Addr]string, s pool.Service) bool {
	for _, name := range had {
		if name == string(s.Name) {
			return true
		}
	}
	return false
}

// What was of a service that the configuration no longer has rests before it is another's, after a reboot too; with
// nothing on the disk all is free at once.
func TestWhatIsGoneRests(t *testing.T) {
	w := newWorld(t, 1, webs(1))
	w.mustAsk(client, web(1))
	w.claim()
	w.services = named{web(2)}
	for _, when := range []string{"after a reload", "after kill -9", "after a reboot"} {
		switch when {
		case "after a reload":
			if err := w.Configure(w.config()); err != nil {
				t.Fatal(err)
			}
			w.keeper.flush()
		case "after kill -9":
			w.begin(true)
		default:
			w.plane, w.now = newPlane(), 1
			w.begin(false)
		}
		if address, err := w.ask(client, web(2)); !errors.Is(err, nameserver.ErrExhausted) {
			t.Errorf("%s: %s, %v", when, address, err)
		}
	}
	w.pass(rest + time.Second)
	if _, err := w.ask(client, web(2)); err != nil {
		t.Errorf("after its rest: %v", err)
	}
	fresh := newWorld(t, 1, named{web(2)})
	fresh.mustAsk(client, web(2))
}

// An address of which the disk knows nothing readable rests.
func TestUnreadableEntriesRest(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	for key := range w.store.entries {
		w.store.entries[key] = []byte("{")
	}
	w.plane = newPlane()
	w.begin(false)
	if len(w.plane.bindings) != 0 {
		t.Error("an address of which nothing is known was given away")
	}
	w.pass(rest + time.Second)
	w.mustAsk(client, web(1))
}

// An address that moved is answered when the disk has it: a crash just after the answer sends nobody elsewhere.
func TestTheDiskKnowsBeforeTheAnswer(t *testing.T) {
	w := newWorld(t, 1, webs(2))
	w.pass(rest + time.Second)
	address := w.mustAsk(client, web(2))
	kept, err := readKept(w.store, nil)
	if err != nil || len(kept[address]) != 1 || kept[address][0].Service != web(2).Name {
		t.Errorf("the disk has %+v, %v", kept, err)
	}
}

// A disk that refuses is told of, and is written when it takes again; names are answered meanwhile.
func TestTheDiskFails(t *testing.T) {
	w := newWorld(t, 1, webs(2))
	w.pass(rest + time.Second)
	w.store.fails = errNo
	address := w.mustAsk(client, web(2))
	if list := w.Warnings(); len(list) != 1 {
		t.Errorf("status says %v", list)
	}
	w.store.fails = nil
	w.keeper.flush()
	kept, err := readKept(w.store, nil)
	if err != nil || len(kept[address]) != 1 || kept[address][0].Service != web(2).Name || len(w.Warnings()) != 0 {
		t.Errorf("the disk has %+v, %v; status says %v", kept, err, w.Warnings())
	}
}

// An address that rests because little is known of it is nothing else meanwhile either.
func TestUnclearAddressesRest(t *testing.T) {
	w := newWorld(t, 2, webs(1))
	gone := netip.MustParseAddr("198.18.0.1")
	w.plane = newPlane()
	w.store.entries[gone.String()] = []byte("no JSON")
	w.size = 1
	w.begin(false)
	if _, _, rests := w.stillResting([]netip.Addr{gone}, nil); !rests {
		t.Error("nobody knows who had it, and it may be anything at once")
	}
}

// A file that cannot be read to its end shows no address as free.
func TestUnreadableFileRests(t *testing.T) {
	w := newWorld(t, 2, webs(1))
	w.store.unreadable, w.plane, w.store.entries = errNo, newPlane(), map[string][]byte{}
	w.begin(false)
	if _, err := w.ask(stranger(1), web(1)); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("nothing is known of what was lent: %v", err)
	}
	w.pass(rest + time.Second)
	w.mustAsk(stranger(1), web(1))
}

// port is a service with ports of its own at a host.
func port(host pool.Service, name string, ports ...uint16) pool.Service {
	s := host
	s.Name, s.Ports = model.Name(name)+host.Owner, nil
	for _, p := range ports {
		s.Ports = append(s.Ports, model.Port{Protocol: model.TCP, Port: p, To: p})
	}
	return s
}

// Whatever a reload had begun when the daemon was killed, what the file says of an address and the data plane no longer
// has was given to somebody, and rests.
func TestWhatAReloadHadBegunRests(t *testing.T) {
	for name, c := range map[string]struct {
		before, after named
		cut           func(*world) // else the reload was done, and the file not written
	}{
		"two services of one host closed": {named{port(web(1), "www.", 80), port(web(1), "ssh.", 22)}, named{port(web(2), "www.", 80), port(web(3), "ssh.", 22)}, nil},
		"a port closed":                   {named{port(web(1), "www.", 22, 80)}, named{port(web(1), "www.", 80), port(web(3), "ssh.", 22)}, nil},
		"some ports taken away": {named{port(web(1), "www.", 22, 80)}, named{port(web(2), "www.", 80), port(web(3), "ssh.", 22)}, func(w *world) {
			for id, b := range w.plane.bindings {
				b.Ports = b.Ports[1:]
				w.plane.bindings[id] = b
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, c.before)
			for _, s := range c.before {
				w.mustAsk(client, s)
			}
			file := maps.Clone(w.store.entries)
			w.services = c.after
			if c.cut != nil {
				c.cut(w)
			} else if err := w.Configure(w.config()); err != nil {
				t.Fatal(err)
			}
			w.store.entries = file
			w.pass(time.Second)
			w.begin(true)
			for _, s := range c.after {
				if address, err := w.ask(stranger(1), s); err == nil && s.Owner != web(1).Owner {
					t.Errorf("%s has %s a second after it was %s's", s.Name, address, web(1).Owner)
				}
			}
			w.pass(rest + time.Second)
			for i, s := range c.after {
				w.mustAsk(stranger(i+2), s)
			}
		})
	}
}

// An address that has left the pool may be something else when it has rested, however often a daemon has started since.
func TestAnAddressThatLeftRestsOnce(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	had := w.addresses()
	gone := netip.MustParseAddr("198.18.0.1")
	w.mustAsk(client, web(1))
	w.mustAsk(client, web(2))
	if had[gone] == "" {
		t.Fatal("nobody had it")
	}
	w.size = 1
	for started := range 3 {
		w.plane, w.now = newPlane(), 1
		w.begin(false)
		_, left, rests := w.stillResting([]netip.Addr{gone}, nil)
		if want := rest - time.Duration(started)*300*time.Second; !rests || left > want || left < want-time.Minute {
			t.Errorf("start %d: it rests %v for %s, not %s", started+1, rests, left, want)
		}
		w.wall = w.wall.Add(300 * time.Second)
	}
	w.plane, w.now = newPlane(), 1
	w.begin(false)
	if _, left, rests := w.stillResting([]netip.Addr{gone}, nil); rests {
		t.Errorf("it rests for %s more", left)
	}
}
