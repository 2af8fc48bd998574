package daemon

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/test/dataplane"
)

const (
	wwwB = "www.hostb.foo.example."
	// lasting is a pool that says no at once when nothing is free, and whose reservations outlast a test.
	lasting = "pool: {wait: 0s, rest: 130s, reservation_timeout: 1m, "
)

// restart ends the daemon and starts it with a configuration, "" for that of the last start. With kept it is killed: what
// it has pinned stays.
func (b *rig) restart(kept bool, text string) {
	b.t.Helper()
	if text == "" {
		text = b.text
	}
	if !kept {
		b.write()
	}
	b.must(b.store.Close())
	b.must(b.namespace.Do(func() error { return b.data.Close(kept) }))
	b.compose(b.options)
	b.begin(text)
	b.must(b.namespace.Do(b.data.Refresh))
}

// write has the pool write what the disk is to know, as it does at its end.
func (b *rig) write() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.pool.Run(ctx)
}

// boundTo is the binding that has a TCP port.
func (b *rig) boundTo(address netip.Addr, port uint16) (datapath.Binding, bool, error) {
	found, _, ok, err := dataplane.BoundTo(b.data, model.Tuple{
		Protocol: model.TCP, Source: remote, Destination: netip.AddrPortFrom(address, port),
	})
	return found, ok, err
}

// bound says which services have which addresses, by which binding.
func (b *rig) bound() (list []pool.Binding) {
	for _, p := range b.pool.Places() {
		if p.State == pool.Bound {
			p.Used = 0
			list = append(list, p.Binding)
		}
	}
	return list
}

func where(list []pool.Binding) map[model.Name]netip.Addr {
	places := map[model.Name]netip.Addr{}
	for _, b := range list {
		places[b.Service.Name] = b.Address
	}
	return places
}

func visitor(last byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, last}), port)
}

// A daemon that was killed leaves each service its address, those who know it their way in, and who was just answered
// its claim; sessions go on.
func TestKilledDaemonsBindingsStand(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(text, "pool: {", lasting, 1)+otherHost("b", 101))
	r.routed()
	lent := r.mustAsk(www)
	r.admits(remote, lent, 80)
	r.mustAsk(www)
	before := r.bound()
	r.restart(true, "")
	if !r.data.Adopted() {
		t.Fatal("it was not adopted")
	}
	if after := r.bound(); len(after) != 2 || !slices.EqualFunc(before, after, func(x, y pool.Binding) bool {
		return x.ID == y.ID && x.Address == y.Address && x.Service.Name == y.Service.Name && x.Service.Owner == y.Service.Owner
	}) {
		t.Errorf("before %+v, then %+v", before, after)
	}
	if end := r.proves(remote, netip.AddrPortFrom(lent, 80)); end.IsDrop() {
		t.Errorf("the session ends with %s", end)
	}
	r.admits(visitor(1, 4000), lent, 80)                        // by the answer
	r.admits(netip.AddrPortFrom(remote.Addr(), 4001), lent, 80) // who is known
	if p, _ := r.place(www); p.Sessions != 3 {
		t.Errorf("%d sessions stand", p.Sessions)
	}
	if again := r.mustAsk(www); again != lent {
		t.Errorf("the name has %s, before %s", again, lent)
	}
}

// What was never answered before the daemon was killed is free at once; what was answered is not.
func TestKilledDaemonsUnansweredPlacesAreFree(t *testing.T) {
	t.Parallel()
	two := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32-198.18.0.33").Replace(text)
	r := newRig(t, two+otherHost("b", 101))
	r.routed()
	lent := r.mustAsk(www)
	r.restart(true, two+otherHost("b", 101)+otherHost("c", 102))
	if address := r.mustAsk("www.hostc.foo.example."); address == lent {
		t.Errorf("it has %s, which was answered for another", address)
	}
	if address, err := r.ask(wwwB); err == nil {
		t.Errorf("a third service has %s", address)
	}
	if again := r.mustAsk(www); again != lent {
		t.Errorf("the name has %s, before %s", again, lent)
	}
}

// What a daemon was killed with and the next one's configuration has no more rests: its clients find nobody, and nobody
// else gets its address, until its own service is back.
func TestAdoptionFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	one := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32").Replace(text)
	without := one[:strings.Index(one, "    services")] + otherHost("b", 101)
	for name, changed := range map[string]string{
		"the service is gone": without,
		"it is another's":     strings.Replace(one, "name: hosta.foo", "name: hostz.foo", 1) + otherHost("b", 101),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, one)
			r.routed()
			lent := r.mustAsk(www)
			r.admits(remote, lent, 80)
			r.restart(true, changed)
			for range 2 {
				if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
					t.Errorf("%s has %s, %v", wwwB, address, err)
				}
				if address, err := r.ask(www); err == nil {
					t.Errorf("of another host it has %s", address)
				}
				if places := r.pool.Places(); len(places) != 1 || places[0].State != pool.Resting || places[0].Service.Owner != "hosta.foo.example." {
					t.Errorf("the pool has %+v", places)
				}
				if end := r.proves(remote, netip.AddrPortFrom(lent, 80)); !end.IsDrop() {
					t.Errorf("a packet of its session ended with %s", end)
				}
				r.restart(true, changed)
			}
			r.restart(true, one)
			if again := r.mustAsk(www); again != lent {
				t.Errorf("it has %s, before %s", again, lent)
			}
			r.admits(netip.AddrPortFrom(remote.Addr(), 4001), lent, 80)
		})
	}
}

// After a clean stop, and where the layout changed, the file says who had which address. Each service has it again, as a
// binding of which nobody is known, and what is of nobody any more rests, also over the start after that.
func TestStartTakesUpWhatTheFileHas(t *testing.T) {
	t.Parallel()
	three := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32-198.18.0.34").Replace(text) + otherHost("b", 101)
	for name, c := range map[string]struct {
		kept bool
		more string
	}{"a clean stop": {}, "another capacity": {true, "capacity: 5000\n"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, three+otherHost("c", 102))
			r.routed()
			lent, gone := r.mustAsk(www), r.mustAsk(wwwB)
			r.admits(remote, lent, 80)
			before := r.bound()
			r.restart(c.kept, strings.Replace(three, "hostb.foo", "hostd.foo", 2)+otherHost("c", 102)+c.more)
			if r.data.Adopted() {
				t.Fatal("it was adopted")
			}
			now, then := where(r.bound()), where(before)
			if len(now) != 2 || now[www] != then[www] || now["www.hostc.foo.example."] != then["www.hostc.foo.example."] {
				t.Errorf("before %v, then %v", then, now)
			}
			r.refuses(netip.AddrPortFrom(remote.Addr(), 4001), lent, 80, "drop_no_reservation")
			r.refuses(remote, gone, 80, "drop_no_binding")
			r.mustAsk(www)
			r.admits(netip.AddrPortFrom(remote.Addr(), 4002), lent, 80)
			for range 2 {
				if address, err := r.ask("www.hostd.foo.example."); !errors.Is(err, nameserver.ErrExhausted) {
					t.Errorf("a new service has %s, %v: %s was another's", address, err, gone)
				}
				r.restart(false, "")
			}
			r.restart(false, three+otherHost("c", 102))
			if address := r.mustAsk(wwwB); address != gone {
				t.Errorf("it had %s, and has %s", gone, address)
			}
		})
	}
}

// An address that has left the pool when a daemon starts rests all the same: should it be back, it is another's only then.
func TestAddressesThatLeftAreRemembered(t *testing.T) {
	t.Parallel()
	one := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32").Replace(text)
	elsewhere := strings.Replace(one, "198.18.0.32", "198.18.0.77", 1)
	for _, kept := range []bool{true, false} {
		r := newRig(t, one)
		r.routed()
		gone := r.mustAsk(www)
		r.admits(remote, gone, 80)
		r.restart(kept, elsewhere)
		if address := r.mustAsk(www); address == gone {
			t.Errorf("%s is in no pool", address)
		}
		for _, restarted := range []bool{true, false} { // which the file has to tell it
			both := strings.Replace(elsewhere, "198.18.0.77", "198.18.0.77, 198.18.0.32", 1) + otherHost("b", 101)
			if restarted {
				r.restart(false, "")
			}
			r.must(r.reloadWith(both))
			if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
				t.Errorf("kept %t, restarted %t: %s, %v: it was another host's", kept, restarted, address, err)
			}
			r.must(r.reloadWith(elsewhere))
		}
	}
}
