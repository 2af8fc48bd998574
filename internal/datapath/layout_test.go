package datapath

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// tableBytes is what the tables of the options take, without the few pages that
// the kernel adds to each.
func tableBytes(t *testing.T, o Options) float64 {
	t.Helper()
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	spec, err := loadBpf()
	if err != nil {
		t.Fatal(err)
	}
	layout := newLayout(&o)
	if err := applyLayout(spec, &layout, &o); err != nil {
		t.Fatal(err)
	}
	bytes := 0.0
	for name, m := range spec.Maps {
		if strings.HasPrefix(name, "banned_") {
			continue // they take memory for bans that there are, and none for sessions
		}
		switch name {
		case "awaited_askers", "lent_names", "answer_budgets", "subscriber_table", "remote_table", "led_table", "fragment_contexts", "fragment_octets", "identifications", "fragment_holds", "held_fragments",
			"remotes_seen", "flow_rows":
			continue // fixed, and none for sessions
		}
		each := float64((m.ValueSize + 7) &^ 7)
		if m.Type == ebpf.Hash {
			each += float64((m.KeySize+7)&^7) + 48 + 2*16 // element, and two buckets at worst
		}
		if m.Type == ebpf.RingBuf {
			each = 1
		}
		t.Logf("%-20s %10d × %6.0f", name, m.MaxEntries, each)
		bytes += each * float64(m.MaxEntries)
	}
	return bytes
}

// The budget: 96 bytes a session at the defaults, and 112 with a mapping and a filter entry for
// every one; the port arrays included, and the slots for addresses that come later.
func TestBudgetOfBytesPerSession(t *testing.T) {
	const addresses = 5
	o := Options{Capacity: addresses * protocols * ports} // every port a mapping
	for i := range addresses {
		o.Outbound = append(o.Outbound, netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 2)}))
	}
	if each := tableBytes(t, o) / float64(o.Capacity); each > 112 {
		t.Errorf("%.1f bytes a session, the budget is 112", each)
	} else {
		t.Logf("%.1f bytes a session, one mapping each", each)
	}
	o.Outbound, o.Capacity = o.Outbound[:1], 1_000_000
	if each := tableBytes(t, o) / float64(o.Capacity); each > 96 {
		t.Errorf("%.1f bytes a session at the defaults, the budget is 96", each)
	} else {
		t.Logf("%.1f bytes a session at the defaults", each)
	}
	if load := 2_000_000 / float64(buckets(2_000_000)*indexSlots); load < 0.75 || load > 0.82 {
		t.Errorf("index load %.2f at capacity", load)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Capacity: model.MinCapacity, Outbound: []netip.Addr{netip.MustParseAddr("198.18.0.2")}}
	for name, change := range map[string]func(*Options){
		"capacity too small": func(o *Options) { o.Capacity = model.MinCapacity - 1 },
		"capacity too large": func(o *Options) { o.Capacity = model.MaxCapacity + 1 },
		"too many outbound":  func(o *Options) { o.Outbound, o.Slots = append(o.Outbound, netip.MustParseAddr("198.18.0.3")), 1 },
		"too many slots":     func(o *Options) { o.Slots = model.MaxOutbound + 1 },
		"IPv6 outbound":      func(o *Options) { o.Outbound = []netip.Addr{netip.IPv6Loopback()} },
		"reservations":       func(o *Options) { o.Reservations = MaxReservations + 1 },
	} {
		o := good
		change(&o)
		if o.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := good.check(); err != nil {
		t.Error(err)
	}
}

// A data plane is taken over only by a daemon with the same tables.
func TestShapeTellsTablesApart(t *testing.T) {
	shape := func(capacity int) uint64 {
		o := Options{Capacity: capacity, Outbound: []netip.Addr{netip.MustParseAddr("198.18.0.2")}}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		spec, err := loadBpf()
		if err != nil {
			t.Fatal(err)
		}
		layout := newLayout(&o)
		if err := applyLayout(spec, &layout, &o); err != nil {
			t.Fatal(err)
		}
		return shapeOf(spec)
	}
	small, again := shape(4096), shape(4096)
	if small != again {
		t.Error("the same options give two shapes")
	}
	if small == shape(8192) {
		t.Error("another capacity gives the same shape")
	}
}

// What is pinned for interfaces is removed by how its name begins: no table's begins so.
func TestTablesArePinnedApart(t *testing.T) {
	t.Parallel()
	spec, err := xdpSpec()
	if err != nil {
		t.Fatal(err)
	}
	for name := range spec.Maps {
		for _, at := range []place{entering, leaving} {
			if strings.HasPrefix(name, at.pins) {
				t.Errorf("table %s is taken for what is pinned of an interface, %s", name, at.pins)
			}
		}
	}
}
