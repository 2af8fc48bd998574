package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// What the configuration has by default.
var (
	bands    = []Band{{0.5, 0.2, 0.3}, {0.75, 0.3, 0.4}}
	defaults = Options{Bands: bands, Reserve: 0.1}
)

var empty = Load{Addresses: 16, Free: 16}

// full leaves one address of sixteen, which is in the reserve.
var full = Load{Addresses: 16, Free: 1}

func resolver(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{203, byte(n >> 16), byte(n >> 8), byte(n)})
}

func asker(n int) Asker {
	return Asker{
		Client: netip.PrefixFrom(resolver(n), 24).Masked(), Resolver: resolver(n),
		Host: netip.MustParseAddr("10.0.0.1"), Service: "www.hosta.foo.example.", Verified: true,
	}
}

// admitted counts how many of n questions in one second get in.
func admitted(a *Admission, k Asker, n int, l Load) (got int, last error) {
	for i := range n {
		err := a.Admit(model.Instant(i)*second/model.Instant(n), k, l, false)
		if err == nil {
			got++
		} else {
			last = err
		}
	}
	return got, last
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    error
	}{
		"client":   {Options{Client: 10}, ErrClientLimit},
		"resolver": {Options{Resolver: 10}, ErrResolverLimit},
		"host":     {Options{Host: 10}, ErrHostLimit},
		"service":  {Options{Service: 10}, ErrServiceLimit},
		"total":    {Options{Total: 10}, ErrTotalLimit},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(c.options)
			// One second's worth in store, another grows meanwhile.
			got, err := admitted(a, asker(1), 1000, empty)
			if got < 19 || got > 20 || !errors.Is(err, c.want) {
				t.Fatalf("%d got in, then %v", got, err)
			}
			other := asker(1 << 16)
			other.Host, other.Service = netip.MustParseAddr("10.0.0.2"), "x."
			if err := a.Admit(second-1e6, other, empty, false); (err != nil) != (name == "total") {
				t.Fatalf("somebody else: %v", err)
			}
			a.Reconfigure(Options{})
			if got, err := admitted(a, asker(1), 100, empty); got != 100 {
				t.Fatalf("%d got in without limits: %v", got, err)
			}
		})
	}
}

// Where nobody is verified, the reserve must not lock everybody out.
func TestOpen(t *testing.T) {
	k := asker(1)
	k.Verified = false
	for _, open := range []bool{false, true} {
		if err := New(Options{Open: open, Reserve: 0.1}).Admit(0, k, full, false); (err == nil) != open {
			t.Fatalf("open %v: %v", open, err)
		}
	}
}

// A refusal by one limit must not cost tokens of another.
func TestRefusedTakesNothing(t *testing.T) {
	a := New(Options{Client: 1, Host: 10})
	for range 100 {
		_ = a.Admit(0, asker(1), empty, false)
	}
	for n := range 9 {
		if err := a.Admit(0, asker((n+1)<<16), empty, false); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := a.Admit(0, asker(99<<16), empty, false); !errors.Is(err, ErrHostLimit) {
		t.Fatal(err)
	}
}

// The default quotas must let one client have fifty allocations a second while
// addresses remain, at its first visit and later.
func TestDefaultsLetOneClientIn(t *testing.T) {
	a := New(Options{Client: 100, Resolver: 1000, Host: 1000, Service: 1000, Bands: bands, Reserve: 0.1})
	for s := range 20 {
		for i := range 50 {
			now := model.Instant(s)*second + model.Instant(i)*second/50
			l := Load{Addresses: 16, Free: 16 - i%16}
			for _, class := range []Class{ServiceName, HostName} {
				k := asker(1)
				k.Class = class
				if class == HostName && i%2 == 0 {
					continue // stay below the client's limit
				}
				if err := a.Admit(now, k, l, false); err != nil {
					t.Fatalf("second %d, question %d: %v", s, i, err)
				}
				if i%10 != 0 {
					a.Outcome(now, k, Claimed)
				} else {
					a.Outcome(now, k, Abandoned)
				}
			}
		}
	}
}

func TestReserve(t *testing.T) {
	a := New(defaults)
	for range 10 {
		a.Outcome(0, asker(1), Abandoned)
		a.Outcome(0, asker(2), Claimed)
	}
	unverified := asker(3)
	unverified.Verified = false
	for _, c := range []struct {
		name  string
		asker Asker
		want  error
	}{
		{"abandons", asker(1), ErrReserve},
		{"claims", asker(2), nil},
		{"not seen", asker(4), nil},
		{"not verified", unverified, ErrReserve},
	} {
		for _, class := range []Class{ServiceName, HostName} {
			c.asker.Class = class
			if err := a.Admit(0, c.asker, full, false); !errors.Is(err, c.want) {
				t.Errorf("%s, class %d: %v", c.name, class, err)
			}
			if err := a.Admit(0, c.asker, empty, false); err != nil {
				t.Errorf("%s, class %d, into an empty pool: %v", c.name, class, err)
			}
		}
	}
	// A service that has its place is answered though none is free.
	if err := a.Admit(0, asker(1), Load{Addresses: 16}, true); err != nil {
		t.Fatal(err)
	}
}

// The reserve is whole addresses, and there is none in a small pool: whoever
// looked a name up and did not use it may have its last address all the same.
func TestSmallPoolHasNoReserve(t *testing.T) {
	for addresses := 1; addresses <= 40; addresses++ {
		a := New(defaults)
		a.Outcome(0, asker(1), Abandoned)
		kept := 0
		for free := 1; free <= addresses; free++ {
			l := Load{Addresses: addresses, Free: free}
			if err := a.Admit(second, asker(1), l, false); errors.Is(err, ErrReserve) {
				kept++
			} else if err != nil {
				t.Fatalf("%d of %d free: %v", free, addresses, err)
			}
		}
		if kept != addresses/10 {
			t.Errorf("%d of %d addresses are kept", kept, addresses)
		}
	}
}

// One abandoned reservation keeps nobody from the reserve for long.
func TestReserveForgives(t *testing.T) {
	a := New(defaults)
	a.Outcome(0, asker(1), Abandoned)
	if err := a.Admit(10*second, asker(1), full, false); !errors.Is(err, ErrReserve) {
		t.Errorf("after ten seconds: %v", err)
	}
	if err := a.Admit(60*second, asker(1), full, false); err != nil {
		t.Errorf("after a minute: %v", err)
	}
}

// The same over many names of many hosts, half of the reservations unused: nothing
// that is counted by name or host may add up against the client.
func TestDefaultsLetOneClientHaveManyNames(t *testing.T) {
	a := New(Options{Client: 100, Resolver: 1000, Host: 1000, Service: 1000, Bands: bands, Reserve: 0.1})
	for i := range 60 * 50 {
		now := model.Instant(i) * second / 50
		k := asker(1)
		k.Host = netip.AddrFrom4([4]byte{10, 0, byte(i / 250 % 4), byte(i % 250)})
		k.Service = model.Name(fmt.Sprintf("s%d.foo.example.", i%1000))
		if err := a.Admit(now, k, Load{Addresses: 256, Free: 256 - i%120}, false); err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
		a.Outcome(now, k, Result(i%2))
	}
}

func TestBands(t *testing.T) {
	for _, c := range []struct {
		abandoned, used int
		class           Class
		want            error
	}{
		{2, 8, HostName, nil},           // 0.33 at 9/16
		{4, 8, HostName, ErrReputation}, // 0.25
		{4, 8, ServiceName, nil},        // 0.25
		{7, 8, ServiceName, ErrReputation},
		{2, 12, HostName, ErrReputation}, // 0.33 at 13/16
		{2, 12, ServiceName, nil},
		{7, 6, HostName, nil}, // 7/16
	} {
		a := New(defaults)
		k := asker(1)
		k.Class = c.class
		for range c.abandoned {
			a.Outcome(0, k, Abandoned)
		}
		if err := a.Admit(0, k, Load{Addresses: 16, Free: 16 - c.used}, false); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A reputation multiplied by the largest one grew beyond all bounds.
func TestDefect3_ReputationNormalisation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(defaults)
		now := model.Instant(0)
		for range rapid.IntRange(0, 300).Draw(t, "outcomes") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "pause")))
			before := a.Reputation(now, asker(1))
			result := rapid.SampledFrom([]Result{Claimed, Abandoned, Failed}).Draw(t, "result")
			a.Outcome(now, asker(1), result)
			after := a.Reputation(now, asker(1))
			switch {
			case after < 0 || after > 1:
				t.Fatalf("reputation is %f", after)
			case result == Claimed && after < before, result == Abandoned && after > before, result == Failed && after != before:
				t.Fatalf("result %d took %f to %f", result, before, after)
			}
			if other := a.Reputation(now, asker(1<<22)); other != FirstReputation {
				t.Fatalf("somebody else's is %f", other)
			}
		}
	})
	// A hundred times the questions with the same share is no better.
	a := New(defaults)
	for n := range 1000 {
		result := Claimed
		if n%2 == 0 {
			result = Abandoned
		}
		a.Outcome(0, asker(1), result)
	}
	if r := a.Reputation(0, asker(1)); r < 0.49 || r > 0.51 {
		t.Fatalf("half claimed gives %f", r)
	}
}

// Spoofed sources filled a table for ever.
func TestDefect5_TablesAreBounded(t *testing.T) {
	a := New(Options{Client: 100, Resolver: 100, Host: 1e9, Service: 1e9})
	known := asker(1 << 22)
	for range 50 {
		_ = a.Admit(0, known, empty, false)
	}
	for n := range 3 * TableSize {
		k := asker(n)
		k.Client = netip.PrefixFrom(resolver(n), 32)
		k.Service = model.Name(fmt.Sprintf("%d.foo.example.", n))
		k.Host = k.Resolver
		if err := a.Admit(model.Instant(n), k, empty, false); err != nil {
			t.Fatal(err)
		}
		a.Outcome(model.Instant(n), k, Abandoned)
		if n%1000 == 0 { // in use: not the one idle longest
			_ = a.Admit(model.Instant(n), known, empty, false)
		}
	}
	for name, size := range map[string]int{
		"clients": len(a.client.buckets.nodes), "resolvers": len(a.resolver.buckets.index),
		"hosts": len(a.host.buckets.index), "services": len(a.service.buckets.index), "records": len(a.records.index), "subnets": len(a.subnets.index),
	} {
		if size > TableSize {
			t.Errorf("%s: %d are remembered", name, size)
		}
	}
	if a.client.buckets.get(known.Client) == nil || a.client.buckets.get(netip.PrefixFrom(resolver(0), 32)) != nil {
		t.Fatal("not the one idle longest was forgotten")
	}
}

// Outcomes count from when they happened, and are forgotten in time; nobody is
// blamed for what another wrote into a UDP query.
func TestDefect7_OutcomeJudgedAtTheTransition(t *testing.T) {
	a := New(defaults)
	spoofed := asker(1)
	spoofed.Verified = false
	a.Outcome(0, spoofed, Abandoned)
	a.Outcome(0, spoofed, Failed)
	if r := a.Reputation(0, asker(1)); r != FirstReputation {
		t.Fatalf("blamed for a spoofed query: %f", r)
	}
	for range 10 {
		a.Outcome(second, asker(1), Abandoned)
	}
	a.Outcome(0, asker(1), Abandoned) // heard of late
	r1 := a.Reputation(second, asker(1))
	r2 := a.Reputation(model.Instant(10*Period), asker(1))
	if r1 > 0.2 || r2 < 0.49 {
		t.Fatalf("%f, after ten periods %f", r1, r2)
	}
}

func BenchmarkAdmit(b *testing.B) {
	a := New(Options{Client: 1e9, Resolver: 1e9, Host: 1e9, Service: 1e9, Total: 1e9})
	askers := make([]Asker, 100000)
	for i := range askers {
		askers[i] = asker(i << 2)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := a.Admit(model.Instant(n), askers[n%len(askers)], empty, false); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
