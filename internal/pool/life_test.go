package pool

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// The rest of the machine: what ends things, and what begins anew.

// universe is what names may stand for: owners with one and several services, on ports that clash in every way.
var universe = func() (list []Service) {
	for _, s := range []struct{ name, owner, open string }{
		{"a.", "a.", "tcp/80"}, {"a2.", "a.", "tcp/80:8080"}, {"a3.", "a.", "tcp/22"},
		{"b.", "b.", "tcp/443"}, {"b2.", "b.", "all"}, {"c.", "c.", "udp/443"}, {"c2.", "c.", "icmp"},
		{"d.", "d.", "tcp/22"}, {"e.", "e.", "all"}, {"f.", "f.", "tcp/25"}, {"g.", "g.", "tcp/80"},
	} {
		list = append(list, service(s.name, s.owner, s.open))
	}
	list[3].Zones, list[5].Zones = zones("bar.example."), zones("bar.example.")
	return list
}()

// reload draws which services stand, and what is different about them.
func (m *machine) reload(t *rapid.T) {
	var services []Service
	for _, s := range universe {
		if rapid.IntRange(0, 5).Draw(t, string(s.Name)) == 0 {
			continue
		}
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0:
			s.Owner, s.Host = "z.", netip.MustParseAddr("10.9.9.9")
		case 1:
			s.Host = s.Host.Next()
		case 2:
			s.Ports = ports("tcp/25", "tcp/26", "tcp/80", "tcp/22")
		case 3:
			s.Ports = ports("tcp/22:2222", "icmp")
		case 4:
			if s.Ports[0] != (model.Port{}) {
				s.Ports = append(slices.Clone(s.Ports), ports("tcp/26")...)
			}
		case 5:
			s.Zones = zones("bar.example.", "foo.example.")
		}
		services = append(services, s.normal())
	}
	withdrawn, changed := m.pool.SetServices(m.now, services)
	m.services = services
	lost := map[netip.Addr][]model.Port{}
	for _, b := range withdrawn {
		was := m.oracle.bindings[b.ID]
		if s, ok := m.named(b.Service.Name); ok && s.sameHost(&was.Service) && slices.Equal(s.Ports, was.Service.Ports) &&
			!m.oracle.coalesces(b.Address, s) {
			t.Fatalf("%+v was withdrawn without need", b)
		}
		if b.State == Bound {
			t.Fatalf("withdrawn %+v", b)
		}
		was.Service.Zones = b.Service.Zones // more, if its ports no longer fit
		m.oracle.withdraw(b.ID)
		if b.State == Resting { // some of its ports may rest by themselves
			lost[b.Address] = append(lost[b.Address], was.Service.Ports...)
			was.Service.Ports = b.Service.Ports
		}
	}
	for _, b := range changed {
		was := m.oracle.bindings[b.ID]
		for _, p := range was.Service.Ports {
			if _, kept := b.Service.to(keyOf(p)); !kept {
				lost[b.Address] = append(lost[b.Address], p)
			}
		}
		was.Service.Ports = b.Service.Ports
		if err := m.oracle.give(m.now, b.Address, &b.Service); err != nil {
			t.Fatal(err)
		}
		if err := m.oracle.check(); err != nil {
			t.Fatalf("changed in this order: %v", err)
		}
	}
	m.remnants(t, lost)
	for _, b := range m.oracle.bindings {
		if s, ok := m.named(b.Service.Name); b.State == Bound && (!ok || !s.sameHost(&b.Service) || !slices.Equal(s.Ports, b.Service.Ports)) {
			t.Fatalf("%+v is not what its name stands for", *b)
		} else if b.State == Bound {
			b.Service.Zones = withZones(b.Service.Zones, s.Zones)
			if m.oracle.coalesces(b.Address, s) {
				t.Fatalf("%+v got a zone of sessions that stand", *b)
			}
		}
	}
}

// remnants learns of the records that keep lost ports resting.
func (m *machine) remnants(t *rapid.T, lost map[netip.Addr][]model.Port) {
	for b := range m.pool.Bindings() {
		if _, known := m.first[b.ID]; known {
			continue
		}
		if b.State != Resting || b.Used != m.now {
			t.Fatalf("unknown %+v", b)
		}
		for _, p := range b.Service.Ports {
			if !slices.Contains(lost[b.Address], p) {
				t.Fatalf("%+v rests without cause", b)
			}
		}
		m.first[b.ID] = b
		m.oracle.bindings[b.ID] = &b
	}
}

func (m *machine) named(name model.Name) (*Service, bool) {
	i := slices.IndexFunc(m.services, func(s Service) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return &m.services[i], true
}

func (m *machine) any(t *rapid.T) (Reservation, bool) {
	if len(m.lent) == 0 {
		return Reservation{}, false
	}
	return m.lent[rapid.SampledFrom(slices.Sorted(maps.Keys(m.lent))).Draw(t, "reservation")], true
}

func (m *machine) forget(id uint64) {
	delete(m.lent, id)
	delete(m.oracle.reserved, id)
}

func (m *machine) claim(t *rapid.T) {
	r, ok := m.any(t)
	if !ok {
		t.Skip("nothing lent")
	}
	left := rapid.IntRange(0, r.Claims+1).Draw(t, "left") // a resolver's clients get more
	got, ok := m.pool.Reservations.Claimed(m.now, r.ID, left)
	r.Claims = left
	if left == 0 {
		r.State = Closed
		m.forget(r.ID)
	} else {
		m.lent[r.ID] = r
	}
	if !ok || got != r {
		t.Fatalf("got %+v, want %+v", got, r)
	}
	if b := m.oracle.bindings[r.Binding]; b != nil {
		m.oracle.touch(m.now, r.Binding)
	}
}

func (m *machine) due(t *rapid.T) {
	ids := m.pool.Reservations.Due(m.now)
	for id, r := range m.lent {
		if (r.Expires <= m.now) != slices.Contains(ids, id) {
			t.Fatalf("due is wrong about %+v", r)
		}
	}
	for _, id := range ids {
		if got, ok := m.pool.Reservations.Expired(m.now, id); !ok || got.State == Active {
			t.Fatalf("%+v %v", got, ok)
		}
		m.forget(id)
	}
}

func (m *machine) takeBack(t *rapid.T) {
	r, ok := m.any(t)
	if !ok {
		t.Skip("nothing lent")
	}
	if b := m.oracle.bindings[r.Binding]; b != nil && b.State == Bound && rapid.Bool().Draw(t, "binding") {
		m.unbind(t, r.Binding)
		return
	}
	if got, ok := m.pool.Reservations.Cancel(r.ID); !ok || got.State != Cancelled {
		t.Fatalf("%+v %v", got, ok)
	}
	m.forget(r.ID)
}

// restart adopts what is known into a new pool, in any order, as after a crash: the data plane goes on, and when answers
// were given may be forgotten. Addresses whose bindings are lost rest.
func (m *machine) restart(t *rapid.T) {
	p, err := New(m.options)
	if err != nil {
		t.Fatal(err)
	}
	p.dice.fill, p.number, p.Reservations.generation = m.pool.dice.fill, m.pool.number, m.pool.Reservations.generation
	m.oracle.settle(m.now)
	ids := slices.Sorted(maps.Keys(m.oracle.bindings))
	if len(ids) > 0 {
		ids = rapid.Permutation(ids).Draw(t, "adoption")
	}
	clear(m.oracle.idle)
	for _, id := range ids {
		b, _ := m.pool.Binding(id)
		if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
			delete(m.oracle.bindings, id)
			m.oracle.resting[b.Address] = m.now.Add(slices.Max(rests)) // a reload may lengthen it
			continue
		}
		if b.Used != 0 && rapid.Bool().Draw(t, "when is forgotten") {
			b.Used = m.now
			m.oracle.bindings[id].Used = m.now
		}
		if err := p.Adopt(m.now, b); err != nil {
			t.Fatal(err)
		}
	}
	for a, until := range m.oracle.resting {
		p.Rest(m.now, a, until)
	}
	for id, b := range m.oracle.evicted {
		if m.data.sessions[id] > 0 {
			p.AdoptEvicted(id, b.Address, b.Service)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.lent)) {
		r, _ := m.pool.Reservations.Get(id)
		err := p.Reservations.Adopt(m.now, r)
		if b := m.oracle.bindings[r.Binding]; (err == nil) != (b != nil && b.State == Bound) {
			t.Fatal(err)
		}
		if err != nil {
			m.forget(id)
			continue
		}
		m.queries[id] = map[uint64]bool{}
		for _, q := range p.Reservations.entries[r.Entry()].queries[:r.Granted] {
			m.queries[id][q] = true
		}
	}
	m.pool = p
	m.reload(t)
}

func (m *machine) reconfigure(t *rapid.T) {
	o := m.options
	n := rapid.IntRange(1, 4).Draw(t, "listed")
	o.Addresses = rapid.Permutation(testAddresses).Draw(t, "addresses")[:n]
	o.Rest = rapid.SampledFrom(rests).Draw(t, "rest")
	m.oracle.settle(m.now)
	withdrawn, err := m.pool.Reconfigure(m.now, o)
	if err != nil {
		t.Fatal(err)
	}
	m.options, m.oracle.addresses = o, o.Addresses
	m.oracle.newRest(m.now, o.Rest)
	for a := range m.oracle.idle { // nothing is remembered of an address that is not listed, once it has rested
		_, rests := m.oracle.resting[a]
		kept := slices.ContainsFunc(slices.Collect(maps.Values(m.oracle.bindings)), func(b *Binding) bool { return b.Address == a })
		if !slices.Contains(o.Addresses, a) && !rests && !kept {
			delete(m.oracle.idle, a)
		}
	}
	for _, b := range withdrawn {
		if slices.Contains(o.Addresses, b.Address) {
			t.Fatalf("%+v was withdrawn without need", b)
		}
		m.oracle.withdraw(b.ID)
	}
	for _, b := range m.oracle.bindings {
		if b.State == Bound && !slices.Contains(o.Addresses, b.Address) {
			t.Fatalf("%+v stays on an address that is not listed", *b)
		}
	}
}

// check runs after every step.
func (m *machine) check(t *rapid.T) {
	if err := m.oracle.check(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for b := range m.pool.Bindings() {
		n++
		want, ok := m.oracle.bindings[b.ID]
		if !ok {
			t.Fatalf("pool has %+v, which has gone", b)
		}
		if b.Address != want.Address || b.State != want.State || b.Used > want.Used || !slices.Equal(b.Service.Ports, want.Service.Ports) ||
			!slices.Equal(b.Service.Zones, want.Service.Zones) {
			t.Fatalf("pool   %+v\noracle %+v", b, *want)
		}
		// I4: who was given a binding never finds another host there.
		if first := m.first[b.ID]; first.Address != b.Address || !first.Service.sameHost(&b.Service) ||
			!slices.Equal(withZones(first.Service.Zones, b.Service.Zones), b.Service.Zones) {
			t.Fatalf("%+v was %+v", b, first)
		}
	}
	if n != len(m.oracle.bindings) {
		t.Fatalf("pool has %d bindings, oracle %d", n, len(m.oracle.bindings))
	}
	if s := m.pool.Statistics(); s.Addresses != len(m.oracle.addresses) || s.Active != len(m.lent) || s.Bindings+s.Rests != n {
		t.Fatalf("%+v", s)
	}
}
