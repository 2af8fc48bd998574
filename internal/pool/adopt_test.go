package pool

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestAdoptRefuses(t *testing.T) {
	a := Binding{ID: 1<<32 | 7, Address: testAddresses[0], Service: service("a.", "a.", "tcp/80"), Used: second, State: Bound}
	change := func(f func(*Binding)) Binding {
		b := a
		b.ID++
		b.Service.Name = "z."
		f(&b)
		return b
	}
	o, d := single(), newData()
	d.attach(&o)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Adopt(2*second, a); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    Binding
		want error
	}{
		"again":        {a, ErrConflict},
		"same slot":    {change(func(b *Binding) { b.ID = 2<<32 | 7; b.Service.Ports = ports("tcp/22") }), ErrConflict},
		"same service": {change(func(b *Binding) { b.Service.Name = "a."; b.Service.Ports = ports("tcp/22") }), ErrConflict},
		"same port":    {change(func(*Binding) {}), ErrConflict},
		"web port":     {change(func(b *Binding) { b.Service = service("b.", "b.", "udp/443") }), ErrConflict},
		"everything":   {change(func(b *Binding) { b.Service.Ports = ports("all") }), ErrConflict},
		"rests":        {change(func(b *Binding) { b.Service = service("b.", "b.", "tcp/80"); b.State = Resting }), ErrConflict},
		"not listed":   {change(func(b *Binding) { b.Address = testAddresses[1] }), ErrNotInPool},
		"slot":         {change(func(b *Binding) { b.ID |= 1 << 12 }), ErrRecord},
		"number":       {change(func(b *Binding) { b.ID &= 1<<32 - 1 }), ErrRecord},
		"gone":         {change(func(b *Binding) { b.State = Gone }), ErrRecord},
		"no host":      {change(func(b *Binding) { b.Service.Host = netip.Addr{} }), ErrRecord},
		"no address":   {change(func(b *Binding) { b.Address = netip.Addr{} }), ErrRecord},
		"no ports":     {change(func(b *Binding) { b.Service.Ports = nil }), ErrRecord},
	} {
		if err := p.Adopt(2*second, c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if s := p.Statistics(); s.Bindings != 1 || s.Rests != 0 {
		t.Fatalf("%+v", s)
	}
	// Who rests on what is its own by now may.
	own := change(func(b *Binding) { b.Service.Name, b.State = "old.", Resting })
	if err := p.Adopt(2*second, own); err != nil {
		t.Fatal(err)
	}
	resting := change(func(b *Binding) { b.ID += 4; b.Service = service("s.", "s.", "tcp/22"); b.State = Resting })
	bound := change(func(b *Binding) { b.ID += 5; b.Service = service("t.", "t.", "tcp/22") })
	if err := p.Adopt(2*second, resting); err != nil {
		t.Fatal(err)
	}
	if err := p.Adopt(131*second-1, bound); !errors.Is(err, ErrConflict) {
		t.Fatal("bound where another owner rests:", err)
	}
	// Too late for what no name stands for any more.
	p.SetServices(2*second, []Service{a.Service, service("m.", "m.", "tcp/25")})
	late := change(func(b *Binding) { b.ID += 9; b.Service = service("m.", "m.", "tcp/26") })
	if err := p.Adopt(2*second, late); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	late.Service.Ports = ports("tcp/25")
	if err := p.Adopt(2*second, late); err != nil {
		t.Fatal(err)
	}
}

// A rest is remembered of an address that is not listed, for the case that it is listed again, and forgotten when over.
func TestAdoptRemembersRests(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	o.Addresses = testAddresses[1:2]
	p := newPool(t, o, service("b.", "b.", "tcp/80"))
	a := Binding{ID: 1<<32 | 7, Address: testAddresses[0], Service: service("a.", "a.", "tcp/80"), Used: second, State: Resting}
	if err := p.Adopt(131*second, a); err != nil || p.Statistics().Rests != 0 {
		t.Fatal("a rest that is over is remembered", err)
	}
	if err := p.Adopt(2*second, a); err != nil {
		t.Fatal(err)
	}
	if s := p.Statistics(); s.Addresses != 1 || s.Free != 1 || s.Rests != 1 {
		t.Fatalf("%+v", s)
	}
	o.Addresses = testAddresses[:1]
	if _, err := p.Reconfigure(3*second, o); err != nil {
		t.Fatal(err)
	}
	mustExhaust(t, p, 131*second-1, "b.")
	mustBind(t, p, 131*second, "b.")
}

// A record whose last use lies in the future is of a clock that has begun anew since.
func TestAdoptAfterTheClockBeganAnew(t *testing.T) {
	p, err := New(single())
	if err != nil {
		t.Fatal(err)
	}
	a := Binding{ID: 1<<32 | 7, Address: testAddresses[0], Service: service("a.", "a.", "tcp/80"), Used: 99999 * second, State: Resting}
	if err := p.Adopt(2*second, a); err != nil {
		t.Fatal(err)
	}
	p.SetServices(2*second, []Service{service("b.", "b.", "tcp/80")})
	mustExhaust(t, p, 132*second-1, "b.")
	mustBind(t, p, 132*second, "b.")
}

// A place that moved under standing sessions is found again with both: who had it gives way to who has it.
func TestAdoptAfterAMoveUnderSessions(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	old := Binding{ID: 1<<32 | 1, Address: testAddresses[0], Service: service("a.", "a.", "tcp/25"), Used: second, State: Resting}
	now := Binding{ID: 1<<32 | 2, Address: testAddresses[0], Service: service("b.", "b.", "tcp/25"), Used: 200 * second, State: Bound}
	d.session(second, old.ID, 1)
	for _, list := range [][]Binding{{old, now}, {now, old}} {
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			if err := p.Adopt(201*second, b); err != nil && !errors.Is(err, ErrConflict) {
				t.Fatal(err)
			}
		}
		if s := p.Statistics(); s.Bindings != 1 || s.Rests != 0 {
			t.Fatalf("%+v", s)
		}
		// The old one's slot waits for its session.
		p.SetServices(201*second, []Service{now.Service, service("c.", "c.", "tcp/22")})
		for range 3 {
			c, _ := mustBind(t, p, 201*second, "c.")
			if c.Slot() == old.Slot() {
				t.Fatal("a slot with a session is used")
			}
			p.Unbind(c.ID)
		}
	}
}

func TestAdoptReservationRefuses(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	b, _ := mustBind(t, p, second, "a.")
	r := mustReserve(t, p, second, ask("a.", 1, 1))
	change := func(f func(*Reservation)) Reservation {
		n := r
		n.ID++
		f(&n)
		return n
	}
	for name, c := range map[string]struct {
		r    Reservation
		want error
	}{
		"again":           {r, ErrConflict},
		"entry":           {change(func(r *Reservation) { r.ID |= 1 << 17 }), ErrRecord},
		"number":          {change(func(r *Reservation) { r.ID &= 1<<32 - 1 }), ErrRecord},
		"closed":          {change(func(r *Reservation) { r.State = Closed }), ErrRecord},
		"negative claims": {change(func(r *Reservation) { r.Claims = -1 }), ErrRecord},
		"binding":         {change(func(r *Reservation) { r.Binding++ }), ErrNotInPool},
	} {
		if err := p.Reservations.Adopt(second, c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	// A resolver's clients have had a part of theirs: nobody is to blame at the end.
	n := change(func(r *Reservation) { r.Claims = 12 })
	if err := p.Reservations.Adopt(second, n); err != nil {
		t.Fatal(err)
	}
	if got, ok := p.Reservations.Expired(3*second, n.ID); !ok || got.State != Closed || got.Binding != b.ID {
		t.Fatalf("%+v %v", got, ok)
	}
}

// Of two answers to one asker the later one is repeated, in whatever order they are adopted.
func TestAdoptedReservationsAreRepeatedLatestFirst(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	mustBind(t, p, second, "a.")
	early := mustReserve(t, p, second, ask("a.", 1, 1))
	p.Reservations.Cancel(early.ID)
	late := mustReserve(t, p, 2*second, ask("a.", 1, 1))
	if err := p.Reservations.Adopt(2*second, early); !errors.Is(err, ErrConflict) {
		t.Fatal(err) // its entry has another by now
	}
	early.ID++
	if err := p.Reservations.Adopt(2*second, early); err != nil {
		t.Fatal(err)
	}
	if r, ok := p.Reservations.Repeat(2*second, ask("a.", 1, 2)); !ok || r.ID != late.ID {
		t.Fatalf("%+v %v", r, ok)
	}
}

// With nothing known of an address, nobody gets it before whoever had it has rested.
func TestAddressOfWhichNothingIsKnownRests(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80"))
	p.Rest(second, testAddresses[0], 131*second)
	p.Rest(second, testAddresses[0], 50*second) // the later one holds
	if s := p.Statistics(); s.Resting != 1 || s.Free != 0 {
		t.Fatalf("%+v", s)
	}
	if placed := p.Place(130 * second); len(placed) != 0 {
		t.Fatal(addressesOf(placed))
	}
	mustExhaust(t, p, 131*second-1, "a.")
	if got, _ := mustBind(t, p, 131*second, "a."); got.State != Bound || got.Used != model.Instant(0) {
		t.Fatalf("%+v", got)
	}
	p.Rest(132*second, testAddresses[0], 131*second) // over already
	if s := p.Statistics(); s.Bound != 1 || s.Resting != 0 {
		t.Fatalf("%+v", s)
	}
}
