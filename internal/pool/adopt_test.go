package pool

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestAdoptRefuses(t *testing.T) {
	p := newPool(t, single())
	a := mustOffer(t, p, 0, service(1, model.TCP, 80))
	change := func(f func(*Reservation)) Reservation {
		r := a
		r.ID++
		f(&r)
		return r
	}
	for _, c := range []struct {
		r    Reservation
		want error
	}{
		{a, ErrConflict},
		{change(func(*Reservation) {}), ErrConflict},
		{change(func(r *Reservation) { r.Protocol = 0 }), ErrConflict},
		{change(func(r *Reservation) { r.Host, r.State, r.FreeAt = host(2), Expired, second }), ErrConflict},
		{change(func(r *Reservation) { r.Address = testAddresses[1] }), ErrNotInPool},
		{change(func(r *Reservation) { r.Generation++ }), ErrRecord},
		{change(func(r *Reservation) { r.ID |= DefaultCapacity }), ErrRecord},
		{change(func(r *Reservation) { r.State = Closed }), ErrRecord},
		{change(func(r *Reservation) { r.Host = netip.Addr{} }), ErrRecord},
		{change(func(r *Reservation) { r.Claims = 9 }), ErrRecord},
	} {
		if err := p.Adopt(0, c.r); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.r, err, c.want)
		}
	}
	if s := p.Statistics(); s.Offered != 1 {
		t.Fatalf("%+v", s)
	}
}

// A quarantine is remembered of an address that is not listed, for the case
// that it is listed again.
func TestAdoptRemembersQuarantines(t *testing.T) {
	o := single()
	a := mustOffer(t, newPool(t, o), 0, service(1, model.TCP, 80))
	o.Addresses = testAddresses[1:2]
	p := newPool(t, o)
	a.State, a.FreeAt = Cancelled, 3*second
	if err := p.Adopt(0, a); err != nil {
		t.Fatal(err)
	}
	if s := p.Statistics(); s.Addresses != 1 || s.Free != 1 || s.Quarantined != 1 {
		t.Fatalf("%+v", s)
	}
	if _, err := p.Reconfigure(0, single()); err != nil {
		t.Fatal(err)
	}
	mustExhaust(t, p, 3*second-1, service(2, model.TCP, 80))
	mustOffer(t, p, 3*second, service(2, model.TCP, 80))
}

func TestReconfigureRemembersQuarantines(t *testing.T) {
	o := defaults()
	o.Addresses = testAddresses[:1]
	p := newPool(t, o)
	a := mustOffer(t, p, 0, service(1, model.TCP, 80))
	o.Addresses = testAddresses[1:2]
	withdrawn, err := p.Reconfigure(0, o)
	if err != nil || len(withdrawn) != 1 || withdrawn[0].ID != a.ID {
		t.Fatalf("%v %v", withdrawn, err)
	}
	o.Addresses = testAddresses[:1]
	if _, err := p.Reconfigure(0, o); err != nil {
		t.Fatal(err)
	}
	// A late packet to host 1 is possible until its offer and a quarantine end.
	mustExhaust(t, p, 3*second-1, service(2, model.TCP, 80))
	mustOffer(t, p, 3*second, service(2, model.TCP, 80))
}

func TestOptionsRefuses(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no address":   func(o *Options) { o.Addresses = nil },
		"too many":     func(o *Options) { o.Addresses = make([]netip.Addr, MaxAddresses+1) },
		"twice":        func(o *Options) { o.Addresses = []netip.Addr{host(1), host(1)} },
		"none":         func(o *Options) { o.Addresses = []netip.Addr{{}} },
		"short offer":  func(o *Options) { o.Offer = MinimumLeft - 1 },
		"negative":     func(o *Options) { o.Again = -1 },
		"quota":        func(o *Options) { o.HalfOpen = -1 },
		"capacity":     func(o *Options) { o.Capacity = MaxCapacity + 1 },
		"unknown word": func(o *Options) { o.Order = 9 },
	} {
		o := defaults()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := newPool(t, defaults()).Reconfigure(0, o); err == nil {
			t.Errorf("%s is accepted by Reconfigure", name)
		}
	}
}
