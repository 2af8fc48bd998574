package datapath

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Limits of the tables (bpf/include/types.h).
const (
	MinCapacity     = 1024
	MaxCapacity     = 64_000_000
	MaxOutbound     = 64
	MaxReservations = 1 << 20
)

// Options fix the shape of the data plane. What a reload may change comes
// later, by SetPolicy and SetAddresses.
type Options struct {
	// Instance names the pins under the BPF file system. Empty: nothing is
	// pinned and the data plane ends with the process (tests, benchmarks).
	Instance string
	// Public and Private name the interfaces of each side. Both may be empty:
	// then packets come by Inject alone.
	Public, Private []string
	// Capacity is the number of sessions, MinCapacity to MaxCapacity.
	Capacity int
	// Reservations is the number of reservations that can stand at a time;
	// 0 means DefaultReservations.
	Reservations int
	// Outbound are the addresses of outbound NAT, 1 to MaxOutbound.
	Outbound []netip.Addr
	// Addresses and Services bound the addresses that are answered for, and
	// what SetPolicy opens; 0 means 4,096 of each.
	Addresses, Services int
	// Logger hears of adoption, fall-backs and failures that do not stop.
	Logger *slog.Logger
}

// Settings are the policy of one generation.
type Settings struct {
	Filtering                     model.Filtering
	TCPEstablished, TCPTransitory time.Duration
	TCPClaim, UDP, ICMP           time.Duration
	PortQuarantine                time.Duration
	ForwardIPv6                   bool
	// NameServer is where the gateway is asked for names from outside: whoever asks there
	// does so for others, so that honeypot and geofence let him. IPv4; may be invalid.
	NameServer netip.AddrPort
}

// DefaultReservations is one for 48 sessions, within 1,024 and 65,536.
func DefaultReservations(capacity int) int { return min(max(capacity/48, 1024), 65536) }

func (o *Options) check() error {
	if o.Capacity < MinCapacity || o.Capacity > MaxCapacity {
		return fmt.Errorf("capacity %d is not within %d and %d sessions", o.Capacity, MinCapacity, MaxCapacity)
	}
	if len(o.Outbound) == 0 || len(o.Outbound) > MaxOutbound {
		return fmt.Errorf("%d outbound addresses: use 1 to %d", len(o.Outbound), MaxOutbound)
	}
	for _, a := range o.Outbound {
		if !a.Is4() {
			return fmt.Errorf("outbound address %s is not IPv4", a)
		}
	}
	if o.Reservations == 0 {
		o.Reservations = DefaultReservations(o.Capacity)
	}
	if o.Reservations < 1 || o.Reservations > MaxReservations {
		return fmt.Errorf("%d reservations: use 1 to %d", o.Reservations, MaxReservations)
	}
	o.Addresses = max(o.Addresses, 4096)
	o.Services = max(o.Services, 4096)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// ErrNotRoot says that loading programs needs more rights.
var ErrNotRoot = errors.New("the data plane needs root (CAP_BPF, CAP_NET_ADMIN, CAP_SYS_ADMIN): run as root")
