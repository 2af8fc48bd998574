package allocation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

const (
	rest  = 730 * time.Second
	start = model.Instant(1000 * time.Second)
)

var (
	client = netip.MustParseAddr("192.0.2.10")
	errNo  = errors.New("the plane says no")
)

// fakePlane is a data plane that does nothing but remember.
type fakePlane struct {
	bindings     map[uint64]datapath.Binding
	reservations map[uint64]datapath.Reservation
	sessions     map[uint64]int
	used         map[uint64]model.Instant
	now          func() model.Instant
	standing     []datapath.Session
	refuses      error  // of Bind and Reserve
	spent        uint64 // the reservation whose last claim is gone, but a resolver's for its other clients
	order        []string
}

func newPlane() *fakePlane {
	return &fakePlane{bindings: map[uint64]datapath.Binding{}, reservations: map[uint64]datapath.Reservation{},
		sessions: map[uint64]int{}, used: map[uint64]model.Instant{}, now: func() model.Instant { return start }}
}

func (f *fakePlane) Bind(b datapath.Binding) error {
	f.order = append(f.order, fmt.Sprintf("bind %s %s", b.Address, b.Host))
	for _, o := range f.bindings {
		for _, p := range o.Ports {
			if o.Open && o.Address == b.Address && slices.ContainsFunc(b.Ports, p.Overlaps) {
				return fmt.Errorf("%s of %s is bound to %s", p, b.Address, o.Host)
			}
		}
	}
	if f.refuses != nil {
		return f.refuses
	}
	f.bindings[b.ID] = b
	return nil
}

func (f *fakePlane) Rebind(b datapath.Binding) error {
	f.order = append(f.order, "rebind")
	if _, ok := f.bindings[b.ID]; !ok {
		return errNo
	}
	f.bindings[b.ID] = b
	return nil
}

func (f *fakePlane) Unbind(id uint64) error {
	b, ok := f.bindings[id]
	if !ok {
		return errNo
	}
	f.order = append(f.order, fmt.Sprintf("unbind %s %s", b.Address, b.Host))
	b.Open, b.Ports = false, nil
	f.bindings[id] = b
	return nil
}

func (f *fakePlane) BindingUse(id uint64) (model.Instant, int) { return f.used[id], f.sessions[id] }
func (f *fakePlane) BindingUses(visit func(uint64, model.Instant, int)) error {
	for id := range f.bindings {
		visit(id, f.used[id], f.sessions[id])
	}
	return nil
}

func (f *fakePlane) SlotVacant(slot uint32) bool {
	for id, n := range f.sessions {
		if uint32(id) == slot && n > 0 {
			return false
		}
	}
	return true
}

func (f *fakePlane) Bindings() (all []datapath.Binding, err error) {
	for _, b := range f.bindings {
		b.Used, b.Sessions = max(b.Used, f.used[b.ID]), f.sessions[b.ID]
		all = append(all, b)
	}
	return all, nil
}

func (f *fakePlane) Reserve(r datapath.Reservation) error {
	f.order = append(f.order, "reserve")
	if f.refuses != nil {
		return f.refuses
	}
	if b := f.bindings[r.Binding]; !b.Open {
		return errNo
	}
	f.reservations[r.ID] = r
	f.answered(r.Binding)
	return nil
}

func (f *fakePlane) Extend(id uint64, granted int) error {
	r, ok := f.reservations[id]
	if !ok || f.spent == id {
		return datapath.ErrSpent
	}
	r.Claims = granted - r.Used
	f.reservations[id] = r
	f.answered(r.Binding)
	return nil
}

func (f *fakePlane) answered(binding uint64) {
	b := f.bindings[binding]
	b.Answered = f.now()
	f.bindings[binding] = b
}

func (f *fakePlane) Withdraw(id uint64) (datapath.Withdrawn, error) {
	r, ok := f.reservations[id]
	if !ok {
		return datapath.Withdrawn{}, datapath.ErrSpent
	}
	f.order = append(f.order, "withdraw")
	delete(f.reservations, id)
	return datapath.Withdrawn{Left: r.Claims, Used: r.Used, ClaimedAt: r.ClaimedAt}, nil
}

func (f *fakePlane) Reservations() (all []datapath.Reservation, err error) {
	for _, r := range f.reservations {
		all = append(all, r)
	}
	return all, nil
}

func (f *fakePlane) Sessions(visit func(datapath.Session)) error {
	for _, s := range f.standing {
		visit(s)
	}
	return nil
}

func (f *fakePlane) EndSessions(match func(datapath.Session) bool) (int, error) {
	before := len(f.standing)
	f.standing = slices.DeleteFunc(f.standing, match)
	return before - len(f.standing), nil
}

// memory is a Store.
type memory struct {
	entries    map[string][]byte
	fails      error
	unreadable error
}

func (m *memory) Change(_ string, put map[string][]byte, remove []string) error {
	if m.fails != nil {
		return m.fails
	}
	for key, value := range put {
		m.entries[key] = value
	}
	for _, key := range remove {
		delete(m.entries, key)
	}
	return nil
}

func (m *memory) Each(_ string, visit func(string, []byte) error) error {
	for key, value := range m.entries {
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return m.unreadable
}

// named is Names of services whose own name is the only one.
type named []pool.Service

func (n named) Find(asked model.Name) (model.Name, model.Name, bool) {
	for _, s := range n {
		if s.Name == asked {
			return asked, asked, true
		}
	}
	return "", "", false
}

func (n named) Services() []pool.Service { return n }

func (n named) Owner(address netip.Addr) (model.Name, bool) {
	for _, s := range n {
		if s.Host == address {
			return s.Owner, true
		}
	}
	return "", false
}

func (n named) Number(name model.Name) uint32 {
	for i, s := range n {
		if s.Name == name {
			return uint32(i) + 1
		}
	}
	return 0
}

func (n named) Name(number uint32) model.Name {
	if number == 0 || int(number) > len(n) {
		return ""
	}
	return n[number-1].Name
}

// web is a service of host n with the port 80.
func web(n int) pool.Service {
	owner := model.Name(fmt.Sprintf("host%d.foo.example.", n))
	return pool.Service{
		Name: "www." + owner, Owner: owner, Zones: []model.Name{model.Name(fmt.Sprintf("zone%d.", n))}, Host: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}),
		Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}},
	}
}

func webs(n int) (services named) {
	for i := range n {
		services = append(services, web(i+1))
	}
	return services
}

// world is an Allocator and what it has around it. It reads no clock but now.
type world struct {
	*Allocator
	t        testing.TB
	plane    *fakePlane
	store    *memory
	now      model.Instant
	wall     time.Time
	asked    uint64
	told     []string
	services named
	size     int
	rest     time.Duration // 0: as usual
}

func newWorld(t *testing.T, addresses int, services named) *world {
	w := &world{t: t, plane: newPlane(), store: &memory{entries: map[string][]byte{}}, now: start, services: services, size: addresses}
	w.begin(false)
	return w
}

func (w *world) config() Config {
	addresses := make([]netip.Addr, w.size)
	for i := range addresses {
		addresses[i] = netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	}
	return Config{
		Names:  w.services,
		Pool:   pool.Options{Addresses: addresses, Order: pool.Circular, ReservationTimeout: 2 * time.Second, Rest: cmp.Or(w.rest, rest), Capacity: 1 << 16, Bindings: 4096},
		Policy: policy.Options{Bands: []policy.Band{{Load: 0.5, Service: 0.2, Host: 0.3}, {Load: 0.75, Service: 0.3, Host: 0.4}}},
	}
}

// begin is the start of a daemon.
func (w *world) begin(adopted bool) {
	w.t.Helper()
	w.plane.now = func() model.Instant { return w.now }
	a, err := New(Options{
		Plane: w.plane, Store: w.store, Events: w, Log: slog.New(slog.DiscardHandler), Now: func() model.Instant { return w.now },
		Wall: func() time.Time { return w.wall },
	}, w.config(), adopted)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Allocator = a
}

func (w *world) Emit(e event.Event) {
	w.told = append(w.told, strings.TrimPrefix(e.Kind().String(), "pool_"))
}

// ask is a question over UDP by a verified asker: it does not wait. What the disk is to have is written first.
func (w *world) ask(from netip.Addr, service pool.Service) (netip.Addr, error) {
	w.asked++
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { defer close(done); w.keeper.run(ctx) }()
	answer, err := w.Allocate(ctx, nameserver.Question{
		Name: service.Name, Client: netip.AddrPortFrom(from, 53), Transport: nameserver.UDP, Verified: true, ID: w.asked,
	})
	cancel()
	<-done
	return answer.Address, err
}

func (w *world) mustAsk(from netip.Addr, service pool.Service) netip.Addr {
	w.t.Helper()
	address, err := w.ask(from, service)
	if err != nil {
		w.t.Fatalf("%s asks for %s: %v", from, service.Name, err)
	}
	return address
}

// pass lets time go by, and what is due be done.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.advance()
}

// claim has the client of every open reservation come.
func (w *world) claim() {
	for id, r := range w.plane.reservations {
		r.Used, r.Claims, r.ClaimedAt = r.Used+r.Claims, 0, w.now
		w.plane.reservations[id] = r
		w.plane.used[r.Binding] = w.now
		w.OnClaim(datapath.ClaimEvent{ID: id, At: w.now, Left: 0, Used: r.Used, Client: r.Asker})
	}
}

func stranger(n int) netip.Addr { return netip.AddrFrom4([4]byte{203, byte(n >> 8), byte(n), 1}) }

// Nothing of it comes and goes.
func (n named) Registered(model.Name) (pool.Service, bool) { return pool.Service{}, false }
func (n named) EachRegistered(func(pool.Service))          {}
func (n named) CountRegistered() int                       { return 0 }
