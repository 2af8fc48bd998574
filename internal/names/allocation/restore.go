package allocation

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// New makes an Allocator whose data plane is not attached yet. With adopted that of an earlier process goes on:
// its bindings and reservations stand. Otherwise the disk says who had which address: each service gets its own again, and
// what is of no service any more rests.
func New(o Options, c Config, adopted bool) (*Allocator, error) {
	st := &state{
		options: o, log: o.Log, kick: make(chan struct{}, 1),
		admission: policy.New(c.Policy), holdings: policy.NewHoldings(), alone: policy.NewHoldings(), users: policy.NewUsers(), tickets: map[netip.Addr]uint64{},
		until: map[netip.Addr]time.Time{},
	}
	cs := &claims{st}
	a := &Allocator{
		state: st, claims: cs, questions: &questions{state: st, claims: cs}, relief: &relief{st}, ring: &ring{state: st},
		restorer: &restorer{state: st, unclear: map[netip.Addr]bool{}, adopted: map[uint32]bool{}},
	}
	a.keeper = newKeeper(o.Store, a.tellDisk)
	var err error
	if a.pool, err = pool.New(a.poolOptions(c)); err != nil {
		return nil, err
	}
	a.take(c)
	kept, unread := readKept(o.Store, c.Pool.Addresses)
	if unread != nil {
		a.log.Error("stored bindings not read", "hint", "their addresses rest first", "error", unread)
	}
	now := o.Now()
	a.readUntil(kept)
	if !adopted {
		a.restore(now, kept)
	} else if err := a.adopt(now, kept); err != nil {
		return nil, err
	}
	inherited := inheritedOf(a.config.Names, a.boundServices())
	a.match(now, adopted)
	if !adopted {
		a.installAll(now)
	} else {
		a.endInherited(inherited)
	}
	a.place(now)
	for address := range kept {
		if !a.unclear[address] { // else the disk has to go on saying what it says
			a.keep(address)
		}
	}
	a.keeper.flush()
	return a, nil
}

// readUntil takes up since when addresses that are no longer of the pool have rested.
func (re *restorer) readUntil(kept map[netip.Addr][]keptBinding) {
	for address, list := range kept {
		if slices.Contains(re.config.Pool.Addresses, address) {
			continue
		}
		for _, k := range list {
			if !k.Until.IsZero() && k.Until.After(re.until[address]) {
				re.until[address] = k.Until
			}
		}
	}
}

// rest keeps everybody from an address of which too little is known.
func (re *restorer) rest(now model.Instant, address netip.Addr) {
	re.pool.Rest(now, address, now.Add(re.config.Pool.Rest))
	re.unclear[address] = true
}

func (re *restorer) tellDisk(err error) {
	if err != nil {
		re.log.Error("bindings not stored", "hint", "they are in force, and stored as soon as the disk takes them", "error", err)
		return
	}
	re.log.Info("bindings stored again")
}

// adopt takes over what an earlier process left in the data plane. What the pool cannot take leaves it.
func (re *restorer) adopt(now model.Instant, kept map[netip.Addr][]keptBinding) error {
	bindings, err := re.options.Plane.Bindings()
	if err != nil {
		return err
	}
	adopted := 0
	for i := range bindings {
		if bindings[i].Open && re.adoptBinding(now, &bindings[i], kept[bindings[i].Address]) {
			adopted++
		}
	}
	for i := range bindings {
		if !bindings[i].Open {
			re.adoptClosed(now, &bindings[i], kept[bindings[i].Address])
		}
	}
	re.adoptEvicted(bindings)
	for address, list := range kept {
		if len(list) == 0 {
			re.rest(now, address)
		}
		for _, k := range list {
			if !k.Resting {
				k.Ports, k.Resting = re.uncovered(address, k), true
			}
			if len(k.Ports) > 0 {
				re.restoreOne(now, address, k)
			}
		}
	}
	left, err := re.options.Plane.Reservations()
	if err != nil {
		return err
	}
	reservations := 0
	for i := range left {
		if left[i].Open && re.adoptReservation(now, &left[i]) {
			reservations++
		}
	}
	re.log.Info("pool taken over", "bindings", adopted, "reservations", reservations)
	return nil
}

// uncovered are the ports of a binding in the file that its owner has at the address no more: they were closed just before
// the end, so that the file does not know it.
func (re *restorer) uncovered(address netip.Addr, k keptBinding) []model.Port {
	left := slices.Clone(k.Ports)
	for b := range re.pool.At(address) {
		if b.Service.Owner != k.Owner || b.Service.Identity != k.Identity || b.Service.Host != k.Host {
			continue
		}
		left = slices.DeleteFunc(left, func(p model.Port) bool {
			return slices.ContainsFunc(b.Service.Ports, func(q model.Port) bool { return q.Protocol == p.Protocol && q.Port == p.Port })
		})
	}
	return left
}

// adoptClosed lets rest what was closed just before the end, so that the file does not know it.
func (re *restorer) adoptClosed(now model.Instant, r *datapath.Binding, kept []keptBinding) {
	for _, k := range kept {
		if _, stands := re.pool.Standing(k.Service); stands || k.Resting || k.Host != r.Host {
			continue
		}
		// An error: another record of it rests already, or its place had rested and is somebody else's by now.
		_ = re.adoptAs(now, pool.Binding{ID: r.ID, Address: r.Address, Service: k.service(), Used: now, State: pool.Resting})
	}
}

// adoptBinding takes over a binding with the time of its last use.
func (re *restorer) adoptBinding(now model.Instant, r *datapath.Binding, kept []keptBinding) bool {
	b := pool.Binding{
		ID: r.ID, Address: r.Address, Service: re.boundAs(r, kept), Used: max(r.Used, r.Answered), Answered: r.Answered, State: pool.Bound,
	}
	err := re.adoptAs(now, b)
	if err == nil {
		return true
	}
	re.log.Warn("binding of an earlier daemon withdrawn", "address", r.Address, "host", r.Host, "error", err)
	_ = re.options.Plane.Unbind(r.ID)
	if b.State, b.Used = pool.Resting, now; re.adoptAs(now, b) != nil {
		re.rest(now, r.Address)
	}
	return false
}

// adoptAs has the pool take over a binding with its slot.
func (re *restorer) adoptAs(now model.Instant, b pool.Binding) error {
	err := re.pool.Adopt(now, b)
	if err == nil {
		re.adopted[uint32(b.ID)] = true //nolint:gosec // its low half
	}
	return err
}

// boundAs is the service that a binding of the data plane was made for: as the file has it, or the configuration, or
// somebody unknown, whose binding rests.
func (re *restorer) boundAs(r *datapath.Binding, kept []keptBinding) pool.Service {
	name := re.config.Names.Name(r.Name)
	for _, k := range kept {
		if !k.Resting && k.Host == r.Host && samePorts(k.Ports, r.Ports) {
			return k.service()
		}
	}
	s, ok := re.service(name)
	if !ok || s.Host != r.Host {
		unknown := model.Name(r.Host.String() + ".")
		s = pool.Service{Name: unknown, Owner: unknown, Host: r.Host}
	}
	s.Ports = r.Ports
	return s
}

func samePorts(a, b []model.Port) bool {
	return slices.Equal(model.SortPorts(slices.Clone(a)), model.SortPorts(slices.Clone(b)))
}

func (re *restorer) adoptReservation(now model.Instant, r *datapath.Reservation) bool {
	err := re.pool.Reservations.Adopt(now, pool.Reservation{
		ID: r.ID, Binding: r.Binding, Name: re.config.Names.Name(r.Name), Requester: r.Asker, Source: r.Source,
		Created: r.Expires, Expires: r.Expires, Claims: r.Claims, Granted: r.Claims + r.Used, State: pool.Active,
	})
	if err != nil {
		_, _ = re.options.Plane.Withdraw(r.ID)
	}
	return err == nil
}

// restore takes up what the disk knows.
func (re *restorer) restore(now model.Instant, kept map[netip.Addr][]keptBinding) {
	for address, list := range kept {
		if len(list) == 0 {
			re.rest(now, address)
		}
		for _, k := range list {
			re.restoreOne(now, address, k)
		}
	}
}

// restoreOne takes up one binding as if it had been used just now: when it was nobody knows. Where it cannot stand any
// more it rests.
func (re *restorer) restoreOne(now model.Instant, address netip.Addr, k keptBinding) {
	b := pool.Binding{Address: address, Service: k.service(), Used: now, Answered: now, State: pool.Bound}
	if k.Resting {
		b.State = pool.Resting
	}
	for re.adopted[re.restored] {
		re.restored++
	}
	number := uint64(rand.Uint32()|1) << 32 //nolint:gosec // no secret; it only has to differ from others
	b.ID = number | uint64(re.restored)
	re.restored++
	err := re.pool.Adopt(now, b)
	if err != nil && b.State == pool.Bound {
		b.State = pool.Resting
		err = re.pool.Adopt(now, b)
	}
	if err != nil {
		re.log.Warn("binding not restored", "address", address, "service", k.Service, "error", err)
		re.rest(now, address)
	}
}

// boundServices are the services of the bindings that were taken up, as they were bound.
func (re *restorer) boundServices() (services []pool.Service) {
	for b := range re.pool.Bindings() {
		services = append(services, b.Service)
	}
	return services
}

// installAll puts the bindings that were taken up into an empty data plane.
func (re *restorer) installAll(now model.Instant) {
	var standing []pool.Binding
	for b := range re.pool.Bindings() {
		if b.State == pool.Bound {
			standing = append(standing, b)
		}
	}
	for i := range standing {
		_ = re.install(now, &standing[i])
	}
}
