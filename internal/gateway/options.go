package gateway

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/internal/registry"
)

// Options say what to run.
type Options struct {
	ConfigFile string
	// Instance names pins and lock; several instances may run in several
	// network namespaces.
	Instance string
	// Socket is the path of the control API's Unix socket.
	Socket string
	// KeepDataplane leaves sessions and programs in the kernel at a clean stop.
	KeepDataplane bool
	Logger        *slog.Logger
}

// spare bounds tables that a reload may fill beyond today's need.
func spare(now int) int { return max(4096, 2*now) }

// reserved is the share of the sessions that is kept for those that hosts inside open, and for
// those from outside: a sixteenth.
const reserved = 16

// withoutTCX is set by the linker, for tests: programs are attached as in kernels before 6.6.
var withoutTCX string

func datapathOptions(o Options, v *view, outbound []netip.Addr) datapath.Options {
	c := v.config
	return datapath.Options{
		Instance: o.Instance, WithoutTCX: withoutTCX != "", Public: c.Interfaces.Public, Private: c.Interfaces.Private, Modes: modes(c),
		Stack: c.Interfaces.Stack, Capacity: c.Capacity, Reserve: c.Capacity / reserved, Outbound: outbound, Slots: c.Outbound.Slots, Logger: o.Logger,
		Reservations: reservations(c), Bindings: bindings(c, len(v.registry.Services())), BoundPorts: spare(v.ports()),
		Addresses: spare(len(c.Pool.Addresses) + len(outbound) + len(v.static.Addresses) + len(c.OneToOneAddresses())), Owners: max(1024, 2*len(c.OneToOneAddresses())), Services: spare(len(v.services())), Names: spare(v.realm.Names()),
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

// reservations is the size of the pool's table: offers may fill it to the quota, and those that are over stay a moment.
func reservations(c *config.Config) int {
	if c.Pool.Quotas.HalfOpen > 0 {
		return min(max(2*c.Pool.Quotas.HalfOpen, 1024), datapath.MaxReservations)
	}
	return datapath.DefaultReservations(c.Capacity)
}

func datapathSettings(v *view) datapath.Settings {
	c := v.config
	return datapath.Settings{
		Filtering: c.Outbound.Filtering, TCPEstablished: c.Timeouts.TCPEstablished,
		TCPTransitory: c.Timeouts.TCPTransitory, UDP: c.Timeouts.UDP, UDPUnanswered: c.Timeouts.UDPUnanswered, DNS: c.Timeouts.DNS, ICMP: c.Timeouts.ICMP, Others: c.Timeouts.Others,
		Coming: v.outbound, PortQuarantine: c.Outbound.Quarantine, ForwardIPv6: c.IPv6 == config.IPv6Forward, NameServer: c.DNS.Public,
		Refuse: c.Pool.Refuse, ClientSessions: c.Pool.Quotas.ClientSessions,
		Limits:           limits(c.Limits),
		MSS:              uint16(c.MSS), // the words have the same values
		Except:           c.Outbound.Except,
		Own:              c.OneToOne(),
		LooseReversePath: c.Interfaces.ReversePath == config.ReversePathLoose,
	}
}

func limits(l config.Limits) datapath.Limits {
	return datapath.Limits{
		HostSessions: l.HostSessions, HostPorts: datapath.ProtocolLimits(l.HostPorts), HostRate: l.HostRate,
		RemoteSessions: l.RemoteSessions, RemoteRate: l.RemoteRate, BindingSessions: l.BindingSessions, MappingSessions: l.MappingSessions,
	}
}

// services are all that the data plane is to open.
func (v *view) services() []datapath.Service {
	return slices.Concat(services(v.registry), v.static.Ports, v.shared().Kept())
}

// services are what sessions from the pool may reach.
func services(r *registry.Registry) (list []datapath.Service) {
	for _, s := range r.Services() {
		for _, p := range s.Ports {
			list = append(list, datapath.Service{Host: s.Host, Port: p.To, Protocol: p.Protocol})
		}
	}
	return list
}

// ports counts the ways into all services.
func (v *view) ports() (n int) {
	for _, s := range v.registry.Services() {
		n += len(s.Ports)
	}
	return n
}

func (g *Gateway) allocationConfig(v *view) allocation.Config {
	c := v.config
	order := pool.Random
	if c.Pool.Order == config.OrderCircular {
		order = pool.Circular
	}
	q := c.Pool.Quotas
	return allocation.Config{
		Names: realm.Lendable{Realm: v.realm},
		Pool: pool.Options{
			Addresses: c.Pool.Addresses, Order: order, Offer: c.Pool.Offer, Rest: c.Pool.Rest, HalfOpen: q.HalfOpen,
			HalfOpenPerHost: q.HalfOpenPerHost, Capacity: reservations(c), Bindings: g.room.bindings, Blocked: func(a netip.Addr, p model.Protocol, port uint16) bool { return g.blocked(v, a, p, port) },
		},
		Policy: policy.Options{
			Client: q.Client, Resolver: q.Resolver, Host: q.Host, Service: q.Service, Total: q.Total,
			Bands: bands(c.Pool.Bands), Reserve: c.Pool.Reserve, Open: c.DNS.Verify == config.VerifyNone,
		},
		Wait: c.Pool.Wait,
	}
}

func bands(list []config.Band) []policy.Band {
	made := make([]policy.Band, len(list))
	for i, b := range list {
		made[i] = policy.Band(b)
	}
	return made
}
