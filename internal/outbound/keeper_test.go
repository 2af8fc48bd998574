package outbound

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// busy is a lock that another change has until it ends.
type busy struct{ end func() }

func (b busy) Lock() { b.end() }
func (busy) Unlock() {}

// A look in the middle of a change waits for its end: else it would give the data plane the pool of before.
func TestLookWaitsForAChange(t *testing.T) {
	t.Parallel()
	r, next := new(recorder), configured(lent, address("198.18.0.33"))
	v := InForce{Config: configured(lent, first), File: configured(lent)}
	k := r.keeper(&v)
	if err := k.Open(r, v.Config, []netip.Addr{second, first}).Commit(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		v = InForce{Config: next, File: next}
		k.Prepare(next, []netip.Addr{second}).Settle()
	})
	k.options.Changing = busy{end}
	if err := r.SetAddresses(next.Pool.Addresses, nil); err != nil { // the change has committed this
		t.Fatal(err)
	}
	k.Look()
	end()
	if !slices.Equal(r.pool, next.Pool.Addresses) || !slices.Equal(r.outbound, []netip.Addr{second}) {
		t.Errorf("after the change the data plane has the pool %s and the outbound addresses %s", r.pool, r.outbound)
	}
}

// told are the events since it was asked last.
func (r *recorder) told() []string {
	calls := r.calls
	r.calls = nil
	return slices.DeleteFunc(calls, func(call string) bool { return !strings.HasPrefix(call, "outbound_changed ") })
}

// A change of which a part fails is told when that has succeeded, whole and once.
func TestHalfAChangeIsToldLater(t *testing.T) {
	t.Parallel()
	const (
		left = "outbound_changed {Came:[] Left:[198.18.0.1] Ended:3 Addresses:[198.18.0.2]}"
		next = "outbound_changed {Came:[198.18.0.9] Left:[] Ended:0 Addresses:[198.18.0.2 198.18.0.9]}"
		back = "outbound_changed {Came:[198.18.0.1] Left:[] Ended:3 Addresses:[198.18.0.2 198.18.0.1]}"
	)
	for _, fails := range []string{"pool", "outbound", "end"} {
		for _, returns := range []bool{false, true} {
			r := &recorder{sessions: []datapath.Session{{Origin: "pool", External: netip.AddrPortFrom(first, 80)}}}
			c := configured(lent, first)
			k := r.keeper(&InForce{Config: c, File: configured(lent)})
			if err := k.Open(r, c, []netip.Addr{second, first}).Commit(); err != nil {
				t.Fatal(err)
			}
			r.told()
			r.fails = fails
			k.Look()
			if told := r.told(); len(told) > 0 {
				t.Errorf("%s fails, and told is %q", fails, told)
			}
			want := []string{left, next}
			if returns {
				want = []string{back}
				k.Prepare(c, []netip.Addr{second, first}).Settle()
			} else {
				k.Look()
				k.Look()
				k.Prepare(c, []netip.Addr{second, own}).Settle()
			}
			if told := r.told(); !slices.Equal(told, want) {
				t.Errorf("%s has failed, and told is %q, want %q", fails, told, want)
			}
			if slices.Contains(r.pool, first) != returns {
				t.Errorf("%s has failed, %s is back: %t, and the pool is %s", fails, first, returns, r.pool)
			}
		}
	}
}

func (r *recorder) Slots() ([]datapath.Slot, error) { return r.slots, r.note("slots") }

func (r *recorder) HostShares() (map[int]float64, error) {
	return map[int]float64{1: 0.75, 4: 0.25}, r.note("shares")
}

// A status has the addresses that live and those that drain, how many mappings there may be, and what is wrong.
func TestReport(t *testing.T) {
	t.Parallel()
	r := &recorder{slots: []datapath.Slot{
		{Number: 0, Address: lent, State: datapath.SlotGone}, {Number: 1, Address: second, State: datapath.SlotLive},
		{Number: 3, Address: own, State: datapath.SlotDraining}, {Number: 4, Address: first, State: datapath.SlotLive},
	}}
	c := configured(lent)
	k := r.keeper(&InForce{Config: c, File: c})
	if err := k.Open(r, c, []netip.Addr{second, first}).Commit(); err != nil {
		t.Fatal(err)
	}
	report := func(capacity uint64, warnings ...string) {
		t.Helper()
		var s api.Status
		if err := k.Report(&s); err != nil {
			t.Fatal(err)
		}
		if want := []api.Outbound{
			{Address: second, State: "live", Hosts: 0.75}, {Address: own, State: "draining"}, {Address: first, State: "live", Hosts: 0.25},
		}; !reflect.DeepEqual(s.Outbound, want) || s.Mappings.Capacity != capacity {
			t.Errorf("%+v, and %d mappings, want %+v and %d", s.Outbound, s.Mappings.Capacity, want, capacity)
		}
		if !slices.EqualFunc(s.Warnings, warnings, strings.HasPrefix) {
			t.Errorf("the warnings are %q, want %q", s.Warnings, warnings)
		}
	}
	const each = 3 * 65535 // TCP, UDP and ICMP
	report(2 * each)
	r.fails = "outbound"
	k.Look()
	report(2*each, "it fails")
	k.plan = Plan{}
	k.Look()
	report(0, "no outbound address: ")
	for _, r.fails = range []string{"slots", "shares"} {
		if err := k.Report(new(api.Status)); !errors.Is(err, errFails) {
			t.Errorf("a part of it fails, and it ends with %v", err)
		}
	}
}
