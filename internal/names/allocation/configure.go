package allocation

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// Names is what names stand for: a snapshot that does not change, but for services that come and go by themselves.
type Names interface {
	// Find returns the configured name that answers for the one asked, a wildcard perhaps, and its service's name;
	// false where nothing is open.
	Find(asked model.Name) (name, service model.Name, ok bool)
	// Services are all of the configuration, in its order.
	Services() []pool.Service
	// Registered finds a service that comes and goes by itself, EachRegistered visits them, CountRegistered counts them.
	Registered(service model.Name) (pool.Service, bool)
	EachRegistered(visit func(pool.Service))
	CountRegistered() int
	// Owner is the host that has a private address, whether the pool has services of it or not.
	Owner(address netip.Addr) (host model.Name, ok bool)
	// Number is how the data plane's records mention a name, and Name the way back, "" for none.
	Number(name model.Name) uint32
	Name(number uint32) model.Name
}

// Config is what a reload may change.
type Config struct {
	Names  Names
	Pool   pool.Options // without Use and Vacant
	Policy policy.Options
	Wait   time.Duration // of a question over TCP, for an address
}

// Configure puts another configuration into force. On an error nothing changes.
func (a *Allocator) Configure(c Config) error {
	a.mutex.Lock()
	before := slices.Collect(maps.Values(a.services))
	err := a.configure(c)
	inherited := inheritedOf(a.config.Names, before)
	a.mutex.Unlock()
	if err == nil {
		a.endInherited(inherited)
	}
	return err
}

func (a *Allocator) configure(c Config) error {
	now := a.options.Now()
	withdrawn, err := a.pool.Reconfigure(now, a.poolOptions(c))
	if err != nil {
		return fmt.Errorf("configure the pool: %w", err)
	}
	a.take(c)
	for i := range withdrawn {
		a.unbind(&withdrawn[i])
	}
	a.match(now, true)
	a.place(now)
	a.wake() // addresses may be new, or free again
	return nil
}

// Reconsider has the pool ask once more which addresses are somebody else's (pool.Options.Blocked).
func (a *Allocator) Reconsider() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.configure(a.config)
}

func (a *Allocator) poolOptions(c Config) pool.Options {
	o := c.Pool
	o.Use, o.Vacant, o.Registered = a.options.Plane.BindingUse, a.options.Plane.SlotVacant, c.Names.Registered
	return o
}

// take remembers the configuration, which the pool has already.
func (a *Allocator) take(c Config) {
	a.config = c
	a.admission.Reconfigure(c.Policy)
	for _, address := range c.Pool.Addresses {
		delete(a.until, address)
	}
	a.services = map[model.Name]pool.Service{}
	for _, s := range c.Names.Services() {
		a.services[s.Name] = s
	}
	a.pool.Registered(c.Names.CountRegistered(), nil)
	a.forgetAsked()
}

// inheritedOf finds the private addresses that were one host's and are another's now.
func inheritedOf(names Names, before []pool.Service) map[netip.Addr]bool {
	found := map[netip.Addr]bool{}
	for _, s := range before {
		if owner, ok := names.Owner(s.Host); ok && owner != s.Owner {
			found[s.Host] = true
		}
	}
	return found
}

// endInherited ends the sessions that clients of the pool have with such addresses: they are with another host than they
// were opened for (I9).
func (a *Allocator) endInherited(inherited map[netip.Addr]bool) {
	if len(inherited) == 0 {
		return
	}
	ended, err := a.options.Plane.EndSessions(func(s datapath.Session) bool {
		return s.IsLent() && inherited[s.Private.Addr()]
	})
	if err != nil {
		a.log.Error("sessions of reassigned addresses not ended", "hint", "end them by realmgate sessions", "error", err)
	}
	a.log.Info("sessions of reassigned addresses ended", "addresses",
		slices.SortedFunc(maps.Keys(inherited), netip.Addr.Compare), "sessions", ended)
}

// match makes pool and data plane have the services that are configured. installed: the data plane has what stands.
func (a *Allocator) match(now model.Instant, installed bool) {
	withdrawn, changed := a.pool.SetServices(now, a.config.Names.Services())
	for i := range withdrawn {
		if installed {
			a.unbind(&withdrawn[i])
		}
		a.keep(withdrawn[i].Address)
	}
	for i := range changed {
		if installed {
			a.rebind(now, &changed[i])
		}
		a.keep(changed[i].Address)
	}
}

func (a *Allocator) rebind(now model.Instant, b *pool.Binding) {
	err := a.options.Plane.Rebind(a.record(b))
	if err == nil {
		return
	}
	a.log.Error("ports of a binding not changed", "service", b.Service.Name, "address", b.Address, "error", err)
	if given, ok := a.pool.Unbind(b.ID); ok {
		a.unbind(&given)
	}
}

// place gives services that have no place one, as far as that takes nothing from anybody.
func (a *Allocator) place(now model.Instant) {
	for _, b := range a.pool.Place(now) {
		_ = a.install(now, &b) // which logs what is wrong; the next question tries again
	}
}
