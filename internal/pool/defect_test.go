package pool

import (
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// The tests here are named after the defects of earlier realm gateways that a
// pool can have.

const second = model.Instant(time.Second)

func newPool(t *testing.T, o Options) *Pool {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func single() Options {
	o := defaults()
	o.Addresses = testAddresses[:1]
	return o
}

func mustOffer(t *testing.T, p *Pool, now model.Instant, q Request) Reservation {
	t.Helper()
	r, fresh, err := p.Offer(now, q)
	if err != nil || !fresh {
		t.Fatalf("offer for %s: fresh %v, %v", q.Name, fresh, err)
	}
	return r
}

func mustExhaust(t *testing.T, p *Pool, now model.Instant, q Request) {
	t.Helper()
	if r, fresh, err := p.Offer(now, q); !errors.Is(err, ErrExhausted) {
		t.Fatalf("offer for %s: got %+v, fresh %v, %v; want exhausted", q.Name, r, fresh, err)
	}
}

// An answer was kept after its reservation had died, and led to the next host.
func TestDefect1_CrossHostMisdelivery(t *testing.T) {
	ends := map[string]func(p *Pool, id uint64){
		"claimed": func(p *Pool, id uint64) { p.Claimed(second, id, 0); p.Expired(2*second, id) },
		"expired": func(p *Pool, id uint64) { p.Expired(2*second, id); p.Advance(3 * second) },
		"cancelled": func(p *Pool, id uint64) {
			p.Cancel(second, id)
		},
		"withdrawn": func(p *Pool, id uint64) { p.Withdraw(second, id); p.Advance(3 * second) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, single())
			a := mustOffer(t, p, 0, service(1, model.TCP, 80))
			end(p, a.ID)
			b := mustOffer(t, p, 3*second, service(2, model.TCP, 80))
			if b.Address != a.Address || b.ID == a.ID {
				t.Fatalf("host 2 got %+v after %+v", b, a)
			}
			// The address is host 2's: host 1's client must not get it again.
			mustExhaust(t, p, 3*second, service(1, model.TCP, 80))
			if _, ok := p.Claimed(3*second, a.ID, 0); ok {
				t.Fatal("a dead reservation was claimed")
			}
		})
	}
}

// A name that means another host after a reload must not get the old answer.
func TestDefect1_NameMovedToAnotherHost(t *testing.T) {
	p := newPool(t, defaults())
	q := service(1, model.TCP, 80)
	a := mustOffer(t, p, 0, q)
	q.Host = host(2)
	if b := mustOffer(t, p, 0, q); b.Address == a.Address || b.Host != host(2) {
		t.Fatalf("got %+v", b)
	}
}

// Forms that overlap in a packet, though their keys differ, shared an address.
func TestDefect2_OverloadHole(t *testing.T) {
	forms := []struct {
		p model.Protocol
		d uint16
	}{{model.TCP, 80}, {model.TCP, 443}, {model.UDP, 80}, {model.TCP, 0}, {model.UDP, 0}, {0, 80}, {0, 443}, {0, 0}}
	for _, a := range forms {
		for _, b := range forms {
			p := newPool(t, single())
			mustOffer(t, p, 0, service(1, a.p, a.d))
			_, _, err := p.Offer(0, service(2, b.p, b.d))
			common := (a.p == b.p || a.p == 0 || b.p == 0) && (a.d == b.d || a.d == 0 || b.d == 0)
			if common != (err != nil) {
				t.Errorf("(%s,%d) then (%s,%d): %v", a.p, a.d, b.p, b.d, err)
			}
		}
	}
}

// After the first of several packets the key was gone, yet the address held.
func TestDefect4_LoosePacketsHoldTheAddress(t *testing.T) {
	o := single()
	p := newPool(t, o)
	q := service(1, model.TCP, 80)
	a := mustOffer(t, p, 0, q)
	for n := uint64(2); n <= 3; n++ {
		q.Query = n
		if r, fresh, err := p.Offer(0, q); err != nil || fresh || r.ID != a.ID || r.Claims != int(n) {
			t.Fatalf("query %d: %+v %v %v", n, r, fresh, err)
		}
	}
	// While claims are left, the key is there and so is the answer.
	for left := 2; left >= 1; left-- {
		if r, ok := p.Claimed(second/2, a.ID, left); !ok || r.State != Offered || r.Claims != left {
			t.Fatalf("%d left: %+v %v", left, r, ok)
		}
	}
	q.Query = 3
	if r, fresh, err := p.Offer(second/2, q); err != nil || fresh || r.ID != a.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
	// With the last one gone, the address is held for Again and no longer.
	r, ok := p.Claimed(second, a.ID, 0)
	if !ok || r.State != Claimed || r.FreeAt != 2*second {
		t.Fatalf("%+v %v", r, ok)
	}
	mustExhaust(t, p, 2*second-1, service(2, model.TCP, 80))
	for _, id := range p.Due(2 * second) {
		p.Expired(2*second, id)
	}
	mustOffer(t, p, 2*second, service(2, model.TCP, 80))
}

// A used offer whose other claims nobody uses leaves without blame.
func TestDefect4_UnusedClaimsExpireWithoutBlame(t *testing.T) {
	for _, c := range []struct {
		claimed, closed model.Instant
	}{{second / 2, 2 * second}, {second + second/2, 2*second + second/2}} {
		p := newPool(t, single())
		q := service(1, model.TCP, 80)
		a := mustOffer(t, p, 0, q)
		q.Query++
		if _, _, err := p.Offer(0, q); err != nil {
			t.Fatal(err)
		}
		p.Claimed(c.claimed, a.ID, 1)
		for now := model.Instant(0); now < c.closed; now += second / 4 {
			for _, id := range p.Due(now) {
				p.Expired(now, id)
			}
			mustExhaust(t, p, now, service(2, model.TCP, 80))
		}
		for _, id := range p.Due(c.closed) {
			p.Expired(c.closed, id)
		}
		mustOffer(t, p, c.closed, service(2, model.TCP, 80))
		if s := p.Statistics(); s.Expired != 0 || s.Claimed != 1 {
			t.Fatalf("%+v", s)
		}
	}
}

// Sources that ask once and never come back left their traces for ever.
func TestDefect5_NothingIsLeftOfAbandonedOffers(t *testing.T) {
	p := newPool(t, defaults())
	now := model.Instant(0)
	for n := range 50000 {
		q := service(n%100, model.TCP, uint16(1+n%50))
		q.Requester = client(n)
		if _, _, err := p.Offer(now, q); err != nil && !errors.Is(err, ErrExhausted) {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Millisecond)
		for _, id := range p.Due(now) {
			p.Expired(now, id)
		}
	}
	// On every address and port at most one offer and one quarantine.
	if len(p.entries) > 2*4*50 {
		t.Fatalf("the table has grown to %d", len(p.entries))
	}
	now += 4 * second
	for _, id := range p.Due(now) {
		p.Expired(now, id)
	}
	p.Advance(now)
	left := len(p.asked) + len(p.resting) + len(p.halfOpen) + len(p.due.heap) + len(p.quarantine.heap)
	if s := p.Statistics(); left != 0 || s.Free != s.Addresses || s.Offered+s.Held+s.Quarantined != 0 {
		t.Fatalf("%d things are left: %+v", left, s)
	}
}

// A claim that was heard of after the expiry counted as abandoned, and a late
// expiry began its quarantine late.
func TestDefect7_OutcomeJudgedAtTheTransition(t *testing.T) {
	p := newPool(t, single())
	a := mustOffer(t, p, 0, service(1, model.TCP, 80))
	late := 2*second + second/2
	if due := p.Due(late); len(due) != 1 || due[0] != a.ID {
		t.Fatalf("due: %v", due)
	}
	r, ok := p.Claimed(2*second-1, a.ID, 0) // found out only now
	if !ok || r.State != Claimed || r.FreeAt != 3*second-1 {
		t.Fatalf("%+v %v", r, ok)
	}
	if r, ok := p.Expired(late, a.ID); ok {
		t.Fatalf("a claimed offer expired: %+v", r)
	}
	if s := p.Statistics(); s.Claimed != 1 || s.Expired != 0 {
		t.Fatalf("%+v", s)
	}
	p.Expired(3*second, a.ID)
	b := mustOffer(t, p, 3*second, service(2, model.TCP, 80)) // expires at 5 s
	if r, _ := p.Expired(5*second+second/2, b.ID); r.State != Expired || r.FreeAt != 6*second {
		t.Fatalf("%+v", r)
	}
	mustOffer(t, p, 6*second, service(3, model.TCP, 80))
	if _, ok := p.Expired(6*second, b.ID); ok {
		t.Fatal("an expired offer expired again")
	}
}

// A restarted process knew nothing of what was lent.
func TestDefect8_RestartLendsNothingTwice(t *testing.T) {
	p := newPool(t, single())
	offered := mustOffer(t, p, 0, service(1, model.TCP, 80))
	held := mustOffer(t, p, 0, service(1, model.TCP, 443))
	held, _ = p.Claimed(second, held.ID, 0)
	next := newPool(t, single())
	for _, r := range []Reservation{held, offered} {
		if err := next.Adopt(second, r); err != nil {
			t.Fatal(err)
		}
	}
	mustExhaust(t, next, second, service(2, model.TCP, 80))
	mustExhaust(t, next, second, service(2, model.TCP, 443))
	if r := mustOffer(t, next, second, service(2, model.TCP, 22)); r.Entry() == held.Entry() || r.Entry() == offered.Entry() {
		t.Fatal("a table entry has two reservations")
	}
	q := service(1, model.TCP, 80)
	q.Query = 2
	if r, fresh, err := next.Offer(second, q); err != nil || fresh || r.ID != offered.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
}

// Only exact keys were compared, so that a wildcard went over specific ones.
func TestDefect9_WildcardOverSpecific(t *testing.T) {
	p := newPool(t, single())
	mustOffer(t, p, 0, service(1, model.TCP, 80))
	mustOffer(t, p, 0, service(1, model.UDP, 53))
	mustExhaust(t, p, 0, service(2, model.TCP, 0))
	mustExhaust(t, p, 0, service(2, model.AnyProtocol, 53))
	mustExhaust(t, p, 0, hostName(2))
	mustOffer(t, p, 0, service(2, model.AnyProtocol, 22))
	mustExhaust(t, p, 0, service(3, model.TCP, 22))
}
