package pool

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// More random lives than rapid's default, unless the command line says.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "1500")
	_ = flag.Set("rapid.steps", "60")
	flag.Parse()
	os.Exit(m.Run())
}

func TestTwoClientsBehindOneResolver(t *testing.T) {
	p := newPool(t, defaults())
	q := service(1, model.TCP, 80)
	a := mustOffer(t, p, 0, q)
	if r, fresh, _ := p.Offer(0, q); fresh || r.Claims != 1 {
		t.Fatalf("a retransmission gave a claim: %+v", r)
	}
	for n := uint64(2); n <= 20; n++ {
		q.Query = n
		r, fresh, err := p.Offer(second, q)
		if err != nil || fresh || r.ID != a.ID || r.Expires != a.Expires || r.Granted != min(int(n), MaxClaims) {
			t.Fatalf("query %d: %+v %v %v", n, r, fresh, err)
		}
	}
	q.Requester = client(2)
	if r := mustOffer(t, p, 0, q); r.Address == a.Address {
		t.Fatal("two requesters share one claim")
	}
}

func TestNeverAnswersWithLittleLeft(t *testing.T) {
	p := newPool(t, defaults())
	q := service(1, model.TCP, 80)
	a := mustOffer(t, p, 0, q)
	at := a.Expires.Add(-MinimumLeft)
	if r, fresh, err := p.Offer(at, q); err != nil || fresh || r.ID != a.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
	b := mustOffer(t, p, at+1, q)
	if b.Address == a.Address || b.Expires != (at+1).Add(2*time.Second) {
		t.Fatalf("%+v after %+v", b, a)
	}
	// The old offer's end must not take the new one out of the index.
	p.Expired(a.Expires, a.ID)
	if r, fresh, err := p.Offer(a.Expires, q); err != nil || fresh || r.ID != b.ID {
		t.Fatalf("%+v %v %v", r, fresh, err)
	}
}

func TestQuarantine(t *testing.T) {
	p := newPool(t, single())
	a := mustOffer(t, p, 0, service(1, model.TCP, 80))
	if r, ok := p.Expired(2*second-1, a.ID); ok {
		t.Fatalf("expired early: %+v", r)
	}
	p.Expired(2*second, a.ID)
	mustExhaust(t, p, 2*second, service(2, model.TCP, 80))
	mustExhaust(t, p, 2*second, service(2, model.TCP, 0))
	mustExhaust(t, p, 2*second, hostName(2))
	mustOffer(t, p, 2*second, service(2, model.TCP, 443)) // does not overlap
	again := mustOffer(t, p, 2*second, service(1, model.TCP, 80))
	p.Cancel(2*second, again.ID)
	// The same host's cancelled offer does not end its quarantine.
	mustExhaust(t, p, 3*second-1, service(2, model.TCP, 80))
	mustOffer(t, p, 3*second, service(2, model.TCP, 80))
}

func TestQuarantineIsWaivedUnderPressureForDisjointSources(t *testing.T) {
	o := defaults()
	o.Addresses = testAddresses[:2]
	p := newPool(t, o)
	q := service(1, model.TCP, 80)
	q.Source = netip.MustParsePrefix("192.0.2.0/25")
	a := mustOffer(t, p, 0, q)
	p.Expired(2*second, a.ID)
	other := service(2, model.TCP, 80)
	other.Source = netip.MustParsePrefix("192.0.2.128/25")
	if r := mustOffer(t, p, 2*second, other); r.Address == a.Address {
		t.Fatal("waived without need")
	}
	other = service(3, model.TCP, 80)
	mustExhaust(t, p, 2*second, other)                   // any source overlaps
	other.Source = netip.MustParsePrefix("192.0.2.0/24") // overlaps both
	mustExhaust(t, p, 2*second, other)
	other.Source = netip.MustParsePrefix("203.0.113.0/24")
	mustOffer(t, p, 2*second, other)
}

func TestCancel(t *testing.T) {
	p := newPool(t, single())
	a := mustOffer(t, p, 0, service(1, model.TCP, 80))
	if r, ok := p.Cancel(0, a.ID); !ok || r.State != Cancelled {
		t.Fatalf("%+v %v", r, ok)
	}
	q := service(2, model.TCP, 80)
	b := mustOffer(t, p, 0, q) // free at once: nobody was answered
	q.Query = 2
	if _, _, err := p.Offer(0, q); err != nil {
		t.Fatal(err)
	}
	if r, ok := p.Cancel(0, b.ID); !ok || r.State != Cancelled || r.FreeAt != 3*second {
		t.Fatalf("somebody knows the answer: %+v %v", r, ok)
	}
	mustExhaust(t, p, 3*second-1, service(1, model.TCP, 80))
	mustOffer(t, p, 3*second, service(1, model.TCP, 80))
}

func TestStrictAgain(t *testing.T) {
	p := newPool(t, single())
	q := service(1, model.TCP, 80)
	q.Again = new(time.Duration)
	a := mustOffer(t, p, 0, q)
	if r, ok := p.Claimed(1, a.ID, 0); !ok || r.State != Closed {
		t.Fatalf("%+v %v", r, ok)
	}
	mustOffer(t, p, 1, service(2, model.TCP, 80))
}

func TestHostNamesNeedAFreeAddress(t *testing.T) {
	p := newPool(t, defaults())
	for n := range 2 {
		mustOffer(t, p, 0, hostName(n))
		mustOffer(t, p, 0, service(n, model.TCP, uint16(80+n)))
	}
	if s := p.Statistics(); s.Exclusive != 2 || s.Shared != 1 || s.Free != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestOrder(t *testing.T) {
	o := defaults()
	o.Order, o.Again = Circular, 0
	p := newPool(t, o)
	var got []netip.Addr
	for n := range 6 {
		r := mustOffer(t, p, 0, hostName(n))
		p.Claimed(0, r.ID, 0)
		got = append(got, r.Address)
	}
	if want := append(slices.Clone(testAddresses), testAddresses[:2]...); !slices.Equal(got, want) {
		t.Fatalf("circular order is %v", got)
	}
	o.Order = Random
	if _, err := p.Reconfigure(0, o); err != nil {
		t.Fatal(err)
	}
	seen := map[netip.Addr]int{}
	for n := range 4000 {
		r := mustOffer(t, p, 0, hostName(n))
		p.Claimed(0, r.ID, 0)
		seen[r.Address]++
	}
	for a, n := range seen {
		if n < 800 || n > 1200 { // 1000 ± 7 standard deviations
			t.Fatalf("%s was lent %d of 4000 times", a, n)
		}
	}
}

func TestBounds(t *testing.T) {
	o := defaults()
	o.Capacity = 2
	p := newPool(t, o)
	mustOffer(t, p, 0, service(1, model.TCP, 1))
	mustOffer(t, p, 0, service(1, model.TCP, 2))
	if _, _, err := p.Offer(0, service(1, model.TCP, 3)); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	o.HalfOpenPerHost, o.HalfOpen, o.Capacity = 1, 2, 0
	p = newPool(t, o)
	a := mustOffer(t, p, 0, service(1, model.TCP, 1))
	if _, _, err := p.Offer(0, service(1, model.TCP, 2)); !errors.Is(err, ErrHalfOpenHost) {
		t.Fatal(err)
	}
	mustOffer(t, p, 0, service(2, model.TCP, 1))
	if _, _, err := p.Offer(0, service(3, model.TCP, 1)); !errors.Is(err, ErrHalfOpen) {
		t.Fatal(err)
	}
	p.Claimed(0, a.ID, 0) // a hold is not half-open
	mustOffer(t, p, 0, service(1, model.TCP, 2))
	if _, _, err := p.Offer(0, Request{Name: "x."}); !errors.Is(err, ErrRequest) {
		t.Fatal(err)
	}
}
