package pool

import (
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// The tests here are named after the defects of earlier realm gateways that a pool can have.

// An answer was kept after its reservation had died, and led to the next host.
func TestDefect1_CrossHostMisdelivery(t *testing.T) {
	a, b := service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80")
	ends := map[string]func(p *Pool, r Reservation){
		"claimed":   func(p *Pool, r Reservation) { p.Reservations.Claimed(second, r.ID, 0) },
		"expired":   func(p *Pool, r Reservation) { p.Reservations.Expired(3*second, r.ID) },
		"cancelled": func(p *Pool, r Reservation) { p.Reservations.Cancel(r.ID) },
		"withdrawn": func(p *Pool, r Reservation) {
			p.SetServices(second, []Service{b})
			p.SetServices(second, []Service{a, b})
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, single(), a, b)
			first, _ := mustBind(t, p, second, "a.")
			r := mustReserve(t, p, second, ask("a.", 1, 1))
			end(p, r)
			mustExhaust(t, p, 131*second-1, "b.") // who asked for a. may still come
			next, _ := mustBind(t, p, 131*second, "b.")
			mustReserve(t, p, 131*second, ask("b.", 1, 1))
			if next.Address != first.Address || next.ID == first.ID {
				t.Fatalf("b. got %+v after %+v", next, first)
			}
			// The address is b.'s: a.'s client must not get it again.
			if res, ok := p.Reservations.Repeat(131*second, ask("a.", 1, 1)); ok {
				t.Fatalf("answered from %+v", res)
			}
			if _, ok := p.Reservations.Claimed(131*second, r.ID, 0); ok {
				t.Fatal("a dead reservation was claimed")
			}
		})
	}
}

// A name that means another host after a reload must not get the old answer.
func TestDefect1_NameMovedToAnotherHost(t *testing.T) {
	p := newPool(t, defaults(), service("a.", "a.", "tcp/80"))
	visit(t, p, second, "a.")
	after := service("a.", "b.", "tcp/80")
	p.SetServices(second, []Service{after})
	if res, ok := p.Reservations.Repeat(second, ask("a.", 1, 1)); ok {
		t.Fatalf("answered from %+v", res)
	}
	b, _ := mustBind(t, p, second, "a.")
	if r := mustReserve(t, p, second, ask("a.", int(second%251), 1)); r.Binding != b.ID || b.Service.Host != after.Host {
		t.Fatalf("got %+v", r)
	}
}

// Forms that overlap in a packet, though their keys differ, shared an address.
func TestDefect2_OverloadHole(t *testing.T) {
	forms := []string{"tcp/80", "tcp/443", "udp/80", "udp/443", "tcp/22", "icmp", "all"}
	for _, one := range forms {
		for _, other := range forms {
			p := newPool(t, single(), service("a.", "a.", one), service("b.", "b.", other))
			visit(t, p, second, "a.")
			_, _, _, err := p.Bind(second, "b.")
			x, y := ports(one)[0], ports(other)[0]
			if together(x.Protocol, x.Port, y.Protocol, y.Port) != (err != nil) {
				t.Errorf("%s then %s: %v", one, other, err)
			}
		}
	}
}

// After the first of several packets the key was gone, yet the address held.
func TestDefect4_LoosePacketsHoldTheAddress(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	mustBind(t, p, second, "a.")
	q := ask("a.", 1, 1)
	a := mustReserve(t, p, second, q)
	for q.Query = 2; q.Query <= 3; q.Query++ {
		if r, fresh, err := p.Reservations.Reserve(second, q); err != nil || fresh || r.ID != a.ID || r.Claims != int(q.Query) {
			t.Fatalf("query %d: %+v %v %v", q.Query, r, fresh, err)
		}
	}
	// While claims are left, the key is there and so is the answer.
	for left := 2; left >= 1; left-- {
		if r, ok := p.Reservations.Claimed(2*second, a.ID, left); !ok || r.State != Active || r.Claims != left {
			t.Fatalf("%d left: %+v %v", left, r, ok)
		}
	}
	q.Query = 3
	if r, fresh, err := p.Reservations.Reserve(2*second, q); err != nil || fresh || r.ID != a.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
	// With the last one gone, a question gets a reservation of its own, and only the rest keeps the address.
	if r, ok := p.Reservations.Claimed(2*second, a.ID, 0); !ok || r.State != Closed {
		t.Fatalf("%+v %v", r, ok)
	}
	if r := mustReserve(t, p, 2*second, q); r.ID == a.ID {
		t.Fatalf("%+v", r)
	}
	mustExhaust(t, p, 132*second-1, "b.")
	mustBind(t, p, 132*second, "b.")
}

// A used reservation whose other claims nobody uses leaves without blame.
func TestDefect4_UnusedClaimsExpireWithoutBlame(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	mustBind(t, p, second, "a.")
	q := ask("a.", 1, 1)
	a := mustReserve(t, p, second, q)
	q.Query++
	if _, _, err := p.Reservations.Reserve(second, q); err != nil {
		t.Fatal(err)
	}
	p.Reservations.Claimed(2*second, a.ID, 1)
	if r, ok := p.Reservations.Expired(3*second-1, a.ID); ok {
		t.Fatalf("expired early: %+v", r)
	}
	if r, ok := p.Reservations.Expired(3*second, a.ID); !ok || r.State != Closed {
		t.Fatalf("%+v %v", r, ok)
	}
	if s := p.Statistics(); s.Expired != 0 || s.Claimed != 1 || s.Active != 0 {
		t.Fatalf("%+v", s)
	}
}

// Sources that ask once and never come back left their traces for ever.
func TestDefect5_NothingIsLeftOfAbandonedReservations(t *testing.T) {
	services := manyServices(100, ports("tcp/80"), ports("tcp/22"), ports("tcp/25", "tcp/443"))
	o, d := defaults(), newData()
	d.attach(&o)
	o.Rest = time.Second
	p := newPool(t, o, services...)
	now := second
	for n := range 50000 {
		now = now.Add(10 * time.Millisecond)
		expire(p, now)
		q := ask(string(services[n%100].Name), n, uint64(n))
		if _, _, _, err := p.Bind(now, q.Service); errors.Is(err, ErrExhausted) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Reservations.Reserve(now, q); err != nil {
			t.Fatal(err)
		}
	}
	// Two seconds of reservations, and on every address one binding a port at most.
	if len(p.Reservations.entries) > 201 || len(p.table) > 3*len(testAddresses)+1 {
		t.Fatalf("the tables have grown to %d and %d", len(p.Reservations.entries), len(p.table))
	}
	p.SetServices(now, nil)
	now += 4 * second
	expire(p, now)
	p.Advance(now)
	left := len(p.Reservations.asked) + len(p.Reservations.halfOpen) + len(p.Reservations.due.heap) + len(p.rests.heap) + len(p.bound) + len(p.places.ports) +
		len(p.places.keys) + len(p.places.owners)
	for c := range classes {
		left += len(p.calm[c].heap) + len(p.busy[c].heap)
	}
	if s := p.Statistics(); left != 0 || s.Free != s.Addresses || s.Active+s.Bindings+s.Rests != 0 {
		t.Fatalf("%d things are left: %+v", left, s)
	}
}

// A claim that was heard of after the expiry counted as abandoned, and a late expiry began its rest late.
func TestDefect7_OutcomeJudgedAtTheTransition(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	mustBind(t, p, second, "a.")
	a := mustReserve(t, p, second, ask("a.", 1, 1))
	late := 4 * second
	if due := p.Reservations.Due(late); len(due) != 1 || due[0] != a.ID {
		t.Fatalf("due: %v", due)
	}
	if r, ok := p.Reservations.Claimed(3*second-1, a.ID, 0); !ok || r.State != Closed { // found out only now
		t.Fatalf("%+v %v", r, ok)
	}
	if r, ok := p.Reservations.Expired(late, a.ID); ok {
		t.Fatalf("a claimed reservation expired: %+v", r)
	}
	if s := p.Statistics(); s.Claimed != 1 || s.Expired != 0 {
		t.Fatalf("%+v", s)
	}
	b := mustReserve(t, p, 4*second, ask("a.", 1, 1))
	if r, ok := p.Reservations.Expired(60*second, b.ID); !ok || r.State != Expired { // heard of much later
		t.Fatalf("%+v", r)
	}
	mustExhaust(t, p, 134*second-1, "b.")
	mustBind(t, p, 134*second, "b.")
	if _, ok := p.Reservations.Expired(134*second, b.ID); ok {
		t.Fatal("an expired reservation expired again")
	}
}

// A restarted process knew nothing of what was lent.
func TestDefect8_RestartLendsNothingTwice(t *testing.T) {
	services := []Service{service("a.", "a.", "tcp/80"), service("c.", "c.", "tcp/25"), service("b.", "b.", "tcp/80"),
		service("d.", "d.", "tcp/25"), service("e.", "e.", "tcp/22")}
	o := single()
	p := newPool(t, o, services...)
	a, _ := mustBind(t, p, second, "a.")
	reserved := mustReserve(t, p, second, ask("a.", 1, 1))
	c := visit(t, p, second, "c.")
	p.SetServices(second, services[:1])
	next, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for b := range p.Bindings() {
		if err := next.Adopt(2*second, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.Reservations.Adopt(2*second, reserved); err != nil {
		t.Fatal(err)
	}
	if withdrawn, changed := next.SetServices(2*second, services); len(withdrawn)+len(changed) != 0 {
		t.Fatal(addressesOf(withdrawn), addressesOf(changed))
	}
	mustExhaust(t, next, 2*second, "b.")
	mustExhaust(t, next, 2*second, "d.")
	if b, _ := mustBind(t, next, 2*second, "e."); b.Slot() == a.Slot() || b.Slot() == c.Slot() {
		t.Fatal("a slot has two bindings")
	}
	q := ask("a.", 1, 2)
	if r, fresh, err := next.Reservations.Reserve(2*second, q); err != nil || fresh || r.ID != reserved.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
	q.Requester = client(2)
	if r := mustReserve(t, next, 2*second, q); r.Entry() == reserved.Entry() {
		t.Fatal("a table entry has two reservations")
	}
}

// Only exact keys were compared, so that a wildcard went over specific ones.
func TestDefect9_WildcardOverSpecific(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"), service("all.", "b.", "all"), service("own.", "a.", "all"),
		service("ssh.", "b.", "tcp/22"))
	visit(t, p, second, "a.")
	mustExhaust(t, p, second, "all.")
	mustExhaust(t, p, second, "own.") // nor the same owner's: which of the two a packet is for would hang on the lookup
	p = newPool(t, single(), service("all.", "b.", "all"), service("a.", "a.", "icmp"), service("ssh.", "b.", "tcp/22"))
	visit(t, p, second, "all.")
	mustExhaust(t, p, second, "a.")
	mustExhaust(t, p, second, "ssh.")
	if b, _ := mustBind(t, p, 1000*second, "a."); b.Service.Ports[0] != (model.Port{Protocol: model.ICMP}) {
		t.Fatalf("%+v", b)
	}
}
