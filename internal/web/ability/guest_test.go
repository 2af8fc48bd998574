package ability

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// guestAt is a host that has registered itself, with a web name at two ports.
func guestAt(i int) *registry.Host {
	name, address := model.Name(fmt.Sprintf("g%d.example.", i)), netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
	return &registry.Host{Name: name, Address: address, Services: []*registry.Service{
		{Name: name, Names: []model.Name{name}, Owner: name, Host: address, Web: true, Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 80}, {Protocol: model.TCP, Port: 443, To: 443}}},
		{Name: "ssh." + name, Names: []model.Name{"ssh." + name}, Owner: name, Host: address, Ports: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}}},
	}}
}

func guestsAt(n int) (list []*registry.Host) {
	for i := range n {
		list = append(list, guestAt(i))
	}
	return list
}

// says has the endpoint of a host that is asked answer, or not.
func (k *known) says(t *testing.T, to string, err error, can Can) {
	t.Helper()
	r := k.of[netip.MustParseAddrPort(to)]
	if r == nil || !r.asking {
		t.Fatalf("%s is not being asked", to)
	}
	k.take(r.Endpoint, Answer{Err: err, Can: can}, begin)
}

// A guest that has not answered holds nobody back, a weak one does as long as it is there, and who comes to its name and its
// address is somebody else: what was asked of the one before is not said of it.
func TestGuestsArePromisedFor(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(1), 1)
	web := addressesOf(1)[0]
	wants := func(when string, p datapath.WebPromise) {
		t.Helper()
		if got := k.judge(begin).promises[web]; got != p {
			t.Errorf("%s %+v is promised, want %+v", when, got, p)
		}
	}
	k.next(begin)
	k.says(t, "10.0.0.100:443", nil, all)
	wants("without guests", all.WebPromise)
	laptop := guestAt(1)
	k.visit(guestsOf([]*registry.Host{laptop}))
	wants("when a guest has come", all.WebPromise)
	if ask, _ := k.next(begin); len(ask) != 2 || ask[0].To.String() != "10.1.0.1:80" || ask[1].To.String() != "10.1.0.1:443" {
		t.Errorf("asked are %v", ask)
	}
	k.says(t, "10.1.0.1:443", errors.New("refused"), Can{})
	wants("when it has refused", all.WebPromise)
	weak := Can{datapath.WebPromise{MSS: 1000}, true}
	another := guestAt(1)
	k.visit(guestsOf([]*registry.Host{another}))
	k.says(t, "10.1.0.1:80", nil, weak)
	wants("when one that has gone has answered", all.WebPromise)
	if ask, _ := k.next(begin); len(ask) != 2 {
		t.Errorf("asked of the other are %v", ask)
	}
	k.says(t, "10.1.0.1:80", nil, weak)
	wants("when it can less", weak.WebPromise)
	if j := k.judge(begin); len(j.weak) != 1 || j.weak[0].Host != another.Name || j.weak[0].Unknown {
		t.Errorf("weak are %+v", j.weak)
	}
	k.follow(hostsOf(1), addressesOf(1), begin)
	wants("after a reload", weak.WebPromise)
	k.visit(nil)
	wants("when it has gone", all.WebPromise)
	k.visit(guestsOf([]*registry.Host{laptop}))
	k.hear(weakness{laptop.Name, netip.MustParseAddrPort("10.1.0.1:443"), web, weak.WebPromise}, begin)
	wants("when one that was not asked did less for a client", weak.WebPromise)
	if disk, err := k.onDisk(begin); err != nil || len(disk) != 1 {
		t.Errorf("the disk is to have %d hosts: %v", len(disk), err)
	}
}

// Guests that take all their time keep none of the configuration from being asked, and none that comes.
func TestGuestsAreAskedBeside(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(1), 1)
	guests := guestsAt(10)
	k.visit(guestsOf(guests))
	if ask, _ := k.next(begin); len(ask) != 1+mostAsking || ask[0].To != endpointOf(0).To {
		t.Fatalf("asked are %v", ask)
	}
	k.says(t, "10.0.0.100:443", errors.New("refused"), Can{})
	if ask, _ := k.next(begin.Add(2 * retryEvery)); len(ask) != 1 || ask[0].To != endpointOf(0).To {
		t.Errorf("asked again are %v", ask)
	}
	k.visit(guestsOf(append(guests, guestAt(99))))
	for to := range k.guests {
		k.says(t, to.String(), errors.New("silent"), Can{})
	}
	for range 4 {
		ask, _ := k.next(begin.Add(time.Hour))
		if slices.ContainsFunc(ask, func(e Endpoint) bool { return e.To.Addr() == guestAt(99).Address }) {
			t.Errorf("who came last is asked before those who came first: %v", ask)
		}
		for _, e := range ask {
			k.says(t, e.To.String(), errors.New("silent"), Can{})
		}
	}
	asked := 0
	for _, r := range k.order[guest] {
		if !r.asked.IsZero() {
			asked++
		}
	}
	if asked != 20 {
		t.Errorf("%d endpoints of guests were asked, want each once", asked)
	}
}

// However many guests have the same certificate, pairs are few.
func TestGuestsWithOneCertificate(t *testing.T) {
	t.Parallel()
	k := follows(nil, 2)
	k.visit(guestsOf(guestsAt(1000)))
	for _, r := range k.order[guest] {
		r.names = []model.Name{"*.example."}
	}
	if n := len(k.covers()); n != mostCovers {
		t.Errorf("%d pairs", n)
	}
}

// BenchmarkGuests is what ten thousand guests that all have answered cost: to follow who is there, to choose who is asked next,
// and to say what follows of an answer.
func BenchmarkGuests(b *testing.B) {
	const n = 10_000
	k := newKnown(middle)
	k.follow(hostsOf(10), addressesOf(2), begin)
	guests := guestsOf(guestsAt(n))
	k.visit(guests)
	for _, r := range k.order[guest] {
		r.asked, r.known, r.can, r.due, r.names = begin, true, all, begin.Add(askEvery), []model.Name{model.Name(r.Names[0] + ".")}
	}
	b.Run("visit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			k.visit(guests)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			k.next(begin)
		}
	})
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			k.judge(begin)
		}
	})
}
