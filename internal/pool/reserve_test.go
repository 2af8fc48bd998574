package pool

import (
	"errors"
	"testing"
	"time"
)

func TestTwoClientsBehindOneResolver(t *testing.T) {
	p := newPool(t, defaults(), service("a.", "a.", "tcp/80"))
	b, _ := mustBind(t, p, second, "a.")
	q := ask("a.", 1, 1)
	a := mustReserve(t, p, second, q)
	if r, fresh, _ := p.Reservations.Reserve(second, q); fresh || r.Claims != 1 {
		t.Fatalf("a retransmission gave a claim: %+v", r)
	}
	for n := uint64(2); n <= 20; n++ {
		q.Query = n
		r, fresh, err := p.Reservations.Reserve(2*second, q)
		if err != nil || fresh || r.ID != a.ID || r.Expires != a.Expires || r.Granted != min(int(n), MaxClaims) {
			t.Fatalf("query %d: %+v %v %v", n, r, fresh, err)
		}
	}
	q.Requester = client(2)
	if r := mustReserve(t, p, second, q); r.Binding != b.ID {
		t.Fatal("two requesters have two addresses")
	}
	q.Name = "www."
	mustReserve(t, p, second, q) // another name of the service
	if got, _ := p.Binding(b.ID); got.Used != 2*second {
		t.Fatalf("used at %d: a repeated answer is one, too", got.Used)
	}
}

func TestNeverAnswersWithLittleLeft(t *testing.T) {
	p := newPool(t, defaults(), service("a.", "a.", "tcp/80"))
	mustBind(t, p, second, "a.")
	q := ask("a.", 1, 1)
	a := mustReserve(t, p, second, q)
	at := a.Expires.Add(-MinimumLeft)
	if r, fresh, err := p.Reservations.Reserve(at, q); err != nil || fresh || r.ID != a.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
	b := mustReserve(t, p, at+1, q)
	if b.Binding != a.Binding || b.Expires != (at+1).Add(2*time.Second) {
		t.Fatalf("%+v after %+v", b, a)
	}
	// The old reservation's end must not take the new one out of the index.
	p.Reservations.Expired(a.Expires, a.ID)
	if r, fresh, err := p.Reservations.Reserve(a.Expires, q); err != nil || fresh || r.ID != b.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
}

func TestCancel(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	mustBind(t, p, second, "a.")
	a := mustReserve(t, p, second, ask("a.", 1, 1))
	if r, ok := p.Reservations.Cancel(a.ID); !ok || r.State != Cancelled {
		t.Fatalf("%+v %v", r, ok)
	}
	if _, ok := p.Reservations.Cancel(a.ID); ok {
		t.Fatal("cancelled twice")
	}
	if s := p.Statistics(); s.Cancelled != 1 || s.Active != 0 || s.Bindings != 1 {
		t.Fatalf("%+v", s)
	}
}

// Nobody is to blame for not coming where a reload has closed the door.
func TestExpiryOfAWithdrawnBindingIsNobodysFault(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	mustBind(t, p, second, "a.")
	a := mustReserve(t, p, second, ask("a.", 1, 1))
	p.SetServices(second, nil)
	if r, ok := p.Reservations.Expired(3*second, a.ID); !ok || r.State != Cancelled {
		t.Fatalf("%+v %v", r, ok)
	}
}

// Whom nobody was told of is gone at once; whom somebody was told of rests.
func TestUnbind(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	a, _ := mustBind(t, p, second, "a.")
	if got, ok := p.Unbind(a.ID); !ok || got.State != Gone {
		t.Fatalf("%+v %v", got, ok)
	}
	b := visit(t, p, second, "b.")
	if got, ok := p.Unbind(b.ID); !ok || got.State != Resting {
		t.Fatalf("%+v %v", got, ok)
	}
	if _, ok := p.Unbind(b.ID); ok {
		t.Fatal("unbound twice")
	}
	mustExhaust(t, p, 131*second-1, "a.")
	mustBind(t, p, 131*second, "a.")
}

func TestBounds(t *testing.T) {
	services := []Service{service("a.", "a.", "tcp/1"), service("b.", "b.", "tcp/2"), service("c.", "c.", "tcp/3")}
	o := defaults()
	o.Capacity, o.Bindings = 2, 2
	p := newPool(t, o, services...)
	mustBind(t, p, second, "a.")
	mustBind(t, p, second, "b.")
	if _, _, _, err := p.Bind(second, "c."); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if placed := p.Place(second); len(placed) != 0 {
		t.Fatal(addressesOf(placed))
	}
	mustReserve(t, p, second, ask("a.", 1, 1))
	mustReserve(t, p, second, ask("a.", 2, 1))
	if _, _, err := p.Reservations.Reserve(second, ask("b.", 1, 1)); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	o = defaults()
	o.HalfOpenPerHost, o.HalfOpen = 1, 2
	p = newPool(t, o, services...)
	p.Place(second)
	a := mustReserve(t, p, second, ask("a.", 1, 1))
	if _, _, err := p.Reservations.Reserve(second, ask("a.", 2, 1)); !errors.Is(err, ErrHalfOpenHost) {
		t.Fatal(err)
	}
	mustReserve(t, p, second, ask("b.", 1, 1))
	if _, _, err := p.Reservations.Reserve(second, ask("c.", 1, 1)); !errors.Is(err, ErrHalfOpen) {
		t.Fatal(err)
	}
	p.Reservations.Claimed(second, a.ID, 0) // what is claimed is not half-open
	mustReserve(t, p, second, ask("a.", 2, 1))
	if _, _, _, err := p.Bind(second, "nobody."); !errors.Is(err, ErrRequest) {
		t.Fatal(err)
	}
	if _, _, err := p.Reservations.Reserve(second, ask("nobody.", 1, 1)); !errors.Is(err, ErrRequest) {
		t.Fatal(err)
	}
}

func TestNextEvent(t *testing.T) {
	o := single()
	p := newPool(t, o, service("a.", "a.", "tcp/80"))
	if at, ok := p.NextEvent(); ok {
		t.Fatal(at)
	}
	visit(t, p, second, "a.")
	if at, _ := p.NextEvent(); at != 3*second {
		t.Fatal(at)
	}
	p.SetServices(second, nil)
	expire(p, 3*second)
	if at, _ := p.NextEvent(); at != 131*second {
		t.Fatal(at)
	}
	p.Rest(4*second, testAddresses[1], 5*second) // an address that is not listed
	if at, _ := p.NextEvent(); at != 5*second {
		t.Fatal(at)
	}
	p.Advance(131 * second)
	if at, ok := p.NextEvent(); ok {
		t.Fatal(at)
	}
}
