package plane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/plane/settings"
)

// Wants is what a configuration wants of the data plane.
type Wants struct {
	Config   *config.Config     // with the addresses of now
	Outbound []netip.Addr       // of now
	Dnat     []netip.Addr       // addresses of dnat's own
	Open     []datapath.Service // all that is to be open
	Bindings int                // services that the pool may bind
	Ports    int                // ways into them
	Names    int
	Room     Room
}

// Room is for services of hosts that come and go by themselves: bounds, whatever is there now.
type Room struct {
	Services int // ways into hosts
	Bindings int // services that the pool may bind at a time
	Ports    int // ways into those
}

// mostRoom bounds the ways into hosts that register themselves.
const mostRoom = 1 << 24

// RoomFor is the room for all that may register themselves by a configuration.
func RoomFor(c *config.Config) (r Room) {
	apart := map[uint32]bool{} // ports: an address of the pool has each of them once
	for _, e := range c.Dynamic {
		lent := e.Lent()
		for _, s := range lent {
			for _, p := range s.Ports {
				apart[p.Key()] = true
			}
		}
		n := e.Most() * e.Ways()
		r.Services = min(r.Services+n, mostRoom)
		// Of as many as there may be, those are bound that have an address.
		bound := min(e.Most(), len(c.Pool.Addresses))
		r.Bindings = roomBeside(r.Bindings+bound*len(lent), 0, datapath.MaxBindings)
		r.Ports += bound * e.LentWays()
	}
	r.Ports = roomBeside(min(r.Ports, len(c.Pool.Addresses)*len(apart)), 0, datapath.MaxBoundPorts)
	return r
}

// roomBeside is the room that a table of most has beside what is of the configuration: what is there at a time is lent, and no more.
func roomBeside(room, configured, most int) int {
	return min(room, max(0, most-configured))
}

// addresses are those that the data plane answers for, with the outbound ones.
func (w Wants) addresses() []netip.Addr {
	return slices.Concat(w.Config.Pool.Addresses, w.Outbound, w.Dnat, w.Config.Hosts.OneToOneAddresses(), w.Config.Web.Addresses)
}

// spare bounds tables that a reload may fill beyond today's need.
func spare(now int) int { return max(4096, 2*now) }

// reserved is the share of the sessions that is kept for those that hosts inside open, and for
// those from outside: a sixteenth.
const reserved = 16

// withoutTCX is set by the linker, for tests: programs are attached as in kernels before 6.6.
var withoutTCX string

// tables are the data plane's options.
func (p *Plane) tables(w Wants) datapath.Options {
	c := w.Config
	capacity := c.Capacity
	if c.Interfaces.Single() && !c.SingleFlows() {
		capacity = model.MinCapacity // there are no sessions
	}
	return datapath.Options{
		Instance: p.instance, Single: c.Interfaces.Single(), SingleFlows: c.SingleFlows(), WithoutTCX: withoutTCX != "", Public: c.Interfaces.Public, Private: c.Interfaces.Private, Modes: modes(c),
		Stack: c.Interfaces.Stack, Capacity: capacity, Reserve: capacity / reserved, Outbound: w.Outbound, Slots: c.Outbound.Slots, Logger: p.log,
		Reservations: Reservations(c), Bindings: bindings(c, w.Bindings+w.Room.Bindings), BoundPorts: min(spare(w.Ports+w.Room.Ports), datapath.MaxBoundPorts),
		Addresses: spare(len(w.addresses())), Owners: max(1024, 2*len(c.Hosts.OneToOneAddresses())), Services: spare(len(w.Open)) + w.Room.Services, Names: spare(w.Names),
		Pacts: c.Edges.Pacts, Links: c.Edges.Links,
	}
}

// modes are those that interfaces are to have, whatever they are.
func modes(c *config.Config) map[string]datapath.Mode {
	wanted := map[string]datapath.Mode{}
	for _, name := range c.Interfaces.XDP {
		wanted[name] = datapath.XDP
	}
	for _, name := range c.Interfaces.TCX {
		wanted[name] = datapath.TCX
	}
	return wanted
}

// recordLasts is about how long the record of an ended session lies in the tables.
const recordLasts = 5 * time.Minute

// bindings is how many services can stand at an address, or have stood there while records of their sessions are left:
// with a short rest those are many. Each has its share of the tentative sessions, so that fewer are more for each.
func bindings(c *config.Config, services int) int {
	moves := len(c.Pool.Addresses) * int(recordLasts/c.Pool.Rest)
	return min(max(256, 4*services, services+moves), datapath.MaxBindings)
}

// Reservations is the size of the pool's table: they may fill it to the quota, and those that are over stay a moment.
func Reservations(c *config.Config) int {
	if c.Pool.Quotas.HalfOpen > 0 {
		return min(max(2*c.Pool.Quotas.HalfOpen, 1024), datapath.MaxReservations)
	}
	return datapath.DefaultReservations(c.Capacity)
}

// settings are those of a generation.
func (w Wants) settings() datapath.Settings {
	c := w.Config
	webTCP, webUDP := c.WebPorts()
	except, most := c.Outbound.Except, limits(c.Limits)
	if c.Interfaces.Single() { // its flows keep their addresses, and whoever comes is for the one host that there is
		except = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
		most.HostSessions, most.HostRate, most.BindingSessions = 0, 0, c.Capacity
	}
	return datapath.Settings{
		WebTCP: webTCP, WebUDP: webUDP,
		Filtering: c.Outbound.Filtering, Timeouts: c.Timeouts,
		Coming: w.Outbound, PortQuarantine: c.Outbound.Quarantine, ForwardIPv6: c.IPv6.Forwards() || c.Interfaces.Single(), NameServer: c.DNS.Public,
		Refuse: c.Pool.Refuse, ClientSessions: c.Pool.Quotas.ClientSessions,
		Limits:           most,
		MSS:              c.MSS,
		Except:           except,
		Own:              c.Hosts.OneToOne(),
		LooseReversePath: c.Interfaces.ReversePath == settings.ReversePathLoose,
	}
}

func limits(l settings.Limits) datapath.Limits {
	return datapath.Limits{
		HostSessions: l.HostSessions, HostPorts: datapath.ProtocolLimits(l.HostPorts), HostRate: l.HostRate,
		RemoteSessions: l.RemoteSessions, RemoteRate: l.RemoteRate, BindingSessions: l.BindingSessions, MappingSessions: l.MappingSessions,
	}
}

// fit says whether there can be tables for a configuration at all.
func (w Wants) fit() error {
	if w.Ports > datapath.MaxBoundPorts {
		return fmt.Errorf("hosts: they open %d ports by addresses of the pool, at most %d are allowed: open fewer, or give hosts one_to_one", w.Ports, datapath.MaxBoundPorts)
	}
	return nil
}

// Sizes is what the tables were made for.
type Sizes struct{ Addresses, Services, Bindings, Ports, Slots int }

func sizesFor(o *datapath.Options) Sizes {
	return Sizes{Addresses: o.Addresses, Services: o.Services, Bindings: o.Bindings, Ports: o.BoundPorts}
}

// validate says whether the tables can take the step from one configuration to the
// next; the services of both are in the table while the generation changes.
func (r Sizes) validate(old, next Wants) error {
	addresses := map[netip.Addr]bool{}
	for _, a := range next.addresses() {
		addresses[a] = true
	}
	open := map[datapath.Service]bool{}
	for _, s := range slices.Concat(old.Open, next.Open) {
		open[s] = true
	}
	var errs []error
	if n := len(next.Config.Outbound.Addresses); n > r.Slots {
		errs = append(errs, fmt.Errorf("outbound.addresses: %d addresses, but there are slots for %d: raise outbound.slots and restart the daemon", n, r.Slots))
	}
	if len(addresses) > r.Addresses {
		errs = append(errs, fmt.Errorf("pool.addresses: %d pool, outbound, dnat, one-to-one and web addresses, but the table was made for %d: restart the daemon",
			len(addresses), r.Addresses))
	}
	if n := len(open) + next.Room.Services; n > r.Services {
		errs = append(errs, fmt.Errorf("hosts: %d services and ports of dnat, old and new ones and those that may register themselves, but the table was made for %d: restart the daemon",
			n, r.Services))
	}
	// Those of both may stand or rest at a time.
	services := old.Bindings + next.Bindings
	if n := services + roomBeside(next.Room.Bindings, services, datapath.MaxBindings); n > r.Bindings {
		errs = append(errs, fmt.Errorf("hosts: %d services, old and new ones, but the table of bindings was made for %d: restart the daemon", n, r.Bindings))
	}
	ports := old.Ports + next.Ports
	if n := ports + roomBeside(next.Room.Ports, ports, datapath.MaxBoundPorts); n > r.Ports {
		errs = append(errs, fmt.Errorf("hosts: %d ports, old and new ones, but the table of bound ports was made for %d: restart the daemon", n, r.Ports))
	}
	return errors.Join(errs...)
}
