package outbound

import (
	"context"
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

// A look in the middle of a change takes nothing, as it would give the data plane the pool of before. The end of the change
// takes it, and so does that of one that is given up.
func TestLookDuringAChange(t *testing.T) {
	t.Parallel()
	for _, discarded := range []bool{false, true} {
		r := &recorder{machine: []netip.Addr{second, first}}
		before, next := configured(lent, first), configured(lent, address("198.18.0.33"), first)
		v := InForce{Config: before, File: configured(lent)}
		k := r.keeper(&v)
		if err := k.Open(r, before, r.machine).Commit(); err != nil {
			t.Fatal(err)
		}
		change := k.Prepare(next, r.machine)
		if err := r.SetAddresses(next.Pool.Addresses, nil); err != nil { // the change has committed this
			t.Fatal(err)
		}
		r.machine = []netip.Addr{second}
		k.Look()
		if len(r.outbound) != 2 || !slices.Equal(r.pool, next.Pool.Addresses) {
			t.Errorf("during the change a look gave the data plane the pool %s and the outbound addresses %s", r.pool, r.outbound)
		}
		want := []netip.Addr{lent, address("198.18.0.33")}
		if discarded {
			want = want[:1]
			change.Discard()
		} else {
			v = InForce{Config: next, File: configured(want...)}
			change.Settle()
		}
		if !slices.Equal(r.pool, want) || !slices.Equal(r.outbound, r.machine) {
			t.Errorf("discarded: %t: after the change the data plane has the pool %s and the outbound addresses %s", discarded, r.pool, r.outbound)
		}
		r.machine = []netip.Addr{second, own}
		if k.Look(); !slices.Equal(r.outbound, r.machine) {
			t.Errorf("discarded: %t: a look after the change gave the data plane %s", discarded, r.outbound)
		}
	}
}

// What a look saw before a change does not undo it: it looks again, by the plan of now.
func TestLookBegunBeforeAChange(t *testing.T) {
	t.Parallel()
	r := &recorder{machine: []netip.Addr{second}}
	c := configured(lent)
	k := r.keeper(&InForce{Config: c, File: c})
	if err := k.Open(r, c, r.machine).Commit(); err != nil {
		t.Fatal(err)
	}
	look := k.look
	k.look = func(p Plan) ([]netip.Addr, error) {
		k.look = look
		saw, err := look(p)
		r.machine = []netip.Addr{first}
		k.Prepare(c, r.machine).Settle()
		return saw, err
	}
	if k.Look(); !slices.Equal(r.outbound, []netip.Addr{first}) {
		t.Errorf("the data plane has %s", r.outbound)
	}
}

// A change that was prepared with older addresses than a look has taken does not bring them back, neither among the outbound
// ones nor into the pool.
func TestChangeWithOldAddresses(t *testing.T) {
	t.Parallel()
	for _, discarded := range []bool{false, true} {
		r := &recorder{machine: []netip.Addr{second, first}}
		c := configured(lent, first)
		k := r.keeper(&InForce{Config: c, File: configured(lent)})
		if err := k.Open(r, c, r.machine).Commit(); err != nil {
			t.Fatal(err)
		}
		r.machine = []netip.Addr{second}
		k.Look()
		r.told()
		change := k.Prepare(c, []netip.Addr{second, first})
		if err := r.SetAddresses(c.Pool.Addresses, nil); err != nil {
			t.Fatal(err)
		}
		if discarded {
			change.Discard()
		} else {
			change.Settle()
		}
		if !slices.Equal(r.outbound, r.machine) || !slices.Equal(r.pool, []netip.Addr{lent}) {
			t.Errorf("discarded: %t: the data plane has the pool %s and the outbound addresses %s", discarded, r.pool, r.outbound)
		}
		if told := r.told(); len(told) > 0 {
			t.Errorf("discarded: %t: told is %q", discarded, told)
		}
	}
}

// Looks go on while what follows them waits.
func TestRunLooksWhileApplyWaits(t *testing.T) {
	t.Parallel()
	r, c := &recorder{machine: []netip.Addr{second}}, configured(lent)
	k := r.keeper(&InForce{Config: c, File: c})
	if err := k.Open(r, c, r.machine).Commit(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	applies, looks := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(applies) })
	k.options.Apply = func(ctx context.Context) { begin(); <-ctx.Done() }
	k.look = func(Plan) ([]netip.Addr, error) {
		select {
		case looks <- struct{}{}:
		case <-ctx.Done():
		}
		return []netip.Addr{second}, nil
	}
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
	<-looks
	<-applies
	<-looks
	<-looks
	cancel()
	<-ended
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
			r := &recorder{
				machine:  []netip.Addr{second, first},
				sessions: []datapath.Session{{Origin: "pool", External: netip.AddrPortFrom(first, 80)}},
			}
			c := configured(lent, first)
			k := r.keeper(&InForce{Config: c, File: configured(lent)})
			if err := k.Open(r, c, r.machine).Commit(); err != nil {
				t.Fatal(err)
			}
			r.told()
			r.fails, r.machine = fails, []netip.Addr{second}
			k.Look()
			if told := r.told(); len(told) > 0 {
				t.Errorf("%s fails, and told is %q", fails, told)
			}
			want := []string{left, next}
			if returns {
				want = []string{back}
				r.machine = []netip.Addr{second, first}
				k.Prepare(c, r.machine).Settle()
			} else {
				k.Look()
				k.Look()
				r.machine = []netip.Addr{second, own}
				k.Prepare(c, r.machine).Settle()
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
	r := &recorder{machine: []netip.Addr{second, first}, slots: []datapath.Slot{
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
	r.fails, r.machine = "outbound", []netip.Addr{second}
	k.Look()
	report(2*each, "it fails")
	r.machine = []netip.Addr{}
	k.Look()
	report(0, "no outbound address: ")
	for _, r.fails = range []string{"slots", "shares"} {
		if err := k.Report(new(api.Status)); !errors.Is(err, errFails) {
			t.Errorf("a part of it fails, and it ends with %v", err)
		}
	}
}
