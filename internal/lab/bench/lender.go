package bench

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Pool is what a device lends by name: public addresses, for a first packet to
// services of private hosts. The zero value is none.
type Pool struct {
	Addresses trafficgen.Addresses
	Hosts     int
	Services  int // of each host, each with a name and a UDP port of its own
	HalfOpen  int // reservations that may wait for their first packet at one time
}

// Lender is a Device that lends addresses by name.
type Lender interface {
	// HalfOpen returns how many reservations wait for their first packet.
	HalfOpen(ctx context.Context) (int, error)
}

// firstService is the port of a host's first service.
const firstService = 1000

// Names returns how many services there are.
func (p Pool) Names() int { return p.Hosts * p.Services }

// HostName returns the name of a host.
func (p Pool) HostName(host int) string { return fmt.Sprintf("h%d.bench.example.", host) }

// Name returns the name of service n, where those of one host come one after the
// other.
func (p Pool) Name(n int) string {
	return fmt.Sprintf("s%d.%s", n%p.Services, p.HostName(n/p.Services%p.Hosts))
}

// Port returns the port of service n.
func (p Pool) Port(n int) uint16 { return uint16(firstService + n%p.Services) }

// Host returns the address of a host.
func (p Pool) Host(host int) netip.Addr {
	return trafficgen.Addresses{First: after(Sources.Addr(), 2)}.At(host)
}
