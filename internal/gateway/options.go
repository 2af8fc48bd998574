package gateway

import (
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
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

func datapathOptions(o Options, v *view, outbound []netip.Addr) datapath.Options {
	c := v.config
	return datapath.Options{
		Instance: o.Instance, Public: c.Interfaces.Public, Private: c.Interfaces.Private,
		Capacity: c.Capacity, Outbound: outbound, Logger: o.Logger,
		Reservations: reservations(c),
		Addresses:    spare(len(c.Pool.Addresses) + len(outbound) + len(v.static.addresses)), Services: spare(len(v.services())),
	}
}

// reservations is the size of the pool's table: half-open offers may fill it to
// the quota, holds and quarantines stand beside them.
func reservations(c *config.Config) int {
	if c.Pool.Quotas.HalfOpen > 0 {
		return min(max(2*c.Pool.Quotas.HalfOpen, 1024), datapath.MaxReservations)
	}
	return datapath.DefaultReservations(c.Capacity)
}

func datapathSettings(c *config.Config) datapath.Settings {
	return datapath.Settings{
		Filtering: c.Outbound.Filtering, TCPEstablished: c.Timeouts.TCPEstablished,
		TCPTransitory: c.Timeouts.TCPTransitory, TCPClaim: c.Pool.Claim, UDP: c.Timeouts.UDP, ICMP: c.Timeouts.ICMP,
		PortQuarantine: c.Outbound.Quarantine, ForwardIPv6: c.IPv6 == config.IPv6Forward, NameServer: c.DNS.Public,
	}
}

// services are all that the data plane is to open.
func (v *view) services() []datapath.Service { return append(services(v.config), v.static.ports...) }

// services are what sessions from the pool may reach: hosts whole, by their own
// names, which covers their services.
func services(c *config.Config) []datapath.Service {
	list := make([]datapath.Service, 0, len(c.Hosts))
	for _, h := range c.Hosts {
		list = append(list, datapath.Service{Host: h.Address})
		for _, s := range h.Services {
			list = append(list, datapath.Service{Host: h.Address, Port: s.To, Protocol: s.Protocol})
		}
	}
	return list
}

func (g *Gateway) poolOptions(c *config.Config) pool.Options {
	order := pool.Random
	if c.Pool.Order == config.OrderCircular {
		order = pool.Circular
	}
	return pool.Options{
		Addresses: c.Pool.Addresses, Order: order, Offer: c.Pool.Offer, Again: c.Pool.Again,
		Quarantine: c.Pool.Quarantine, HalfOpen: c.Pool.Quotas.HalfOpen,
		HalfOpenPerHost: c.Pool.Quotas.HalfOpenPerHost, Capacity: reservations(c), Blocked: g.blocked,
	}
}

func policyOptions(c *config.Config) policy.Options {
	q := c.Pool.Quotas
	return policy.Options{Client: q.Client, Resolver: q.Resolver, Host: q.Host, Service: q.Service, Total: q.Total,
		Open: c.DNS.Verify == config.VerifyNone}
}

func newRegistry(c *config.Config) (*registry.Registry, error) {
	hosts := make([]registry.Host, 0, len(c.Hosts))
	for _, h := range c.Hosts {
		host := registry.Host{Name: h.Name, Address: h.Address}
		for _, s := range h.Services {
			host.Services = append(host.Services, registry.Service{
				Name: s.Name, Protocol: s.Protocol, Port: s.Port, To: s.To, Again: s.Again,
			})
		}
		hosts = append(hosts, host)
	}
	return registry.New(c.Realm.Zones, hosts)
}

func (g *Gateway) publicOptions(c *config.Config, serial uint32) nameserver.PublicOptions {
	verify := nameserver.VerifyTCP
	if c.DNS.Verify == config.VerifyNone {
		verify = nameserver.VerifyNone
	}
	return nameserver.PublicOptions{
		Zones: c.Realm.Zones, Nameserver: c.Realm.Nameserver, NameserverAddress: c.DNS.Public.Addr(),
		Serial: serial, Verify: verify, Directory: g.directory, Allocator: g, Now: datapath.Now,
		Logger: g.log,
	}
}

func (g *Gateway) privateOptions(c *config.Config, serial uint32) nameserver.PrivateOptions {
	return nameserver.PrivateOptions{
		Zones: c.Realm.Zones, Nameserver: c.Realm.Nameserver, NameserverAddress: c.DNS.Private.Addr(),
		Serial: serial, Directory: g.directory, Upstream: c.DNS.Upstream, CacheSize: c.DNS.Cache,
		Now: datapath.Now, Logger: g.log,
	}
}

// outboundAddresses resolves the default: the first public interface's own.
func outboundAddresses(c *config.Config) ([]netip.Addr, error) {
	if len(c.Outbound.Addresses) > 0 {
		return c.Outbound.Addresses, nil
	}
	name := c.Interfaces.Public[0]
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("look for an outbound address on %s: %w", name, err)
	}
	addresses, err := iface.Addrs()
	if err != nil {
		return nil, fmt.Errorf("look for an outbound address on %s: %w", name, err)
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() {
			return []netip.Addr{prefix.Addr()}, nil
		}
	}
	return nil, fmt.Errorf("interface %s has no IPv4 address: give it one, or set outbound.addresses", name)
}

// nameNumber is a name's number unless another name of the configuration has it,
// so that most keep theirs from one configuration to the next.
func nameNumber(name model.Name) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(string(name))))
	return max(1, hash.Sum32())
}
