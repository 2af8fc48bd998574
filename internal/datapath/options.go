package datapath

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Limits of the tables (bpf/include/types.h).
const (
	MaxReservations = 1 << 20
	MaxBindings     = 1<<16 - 1
	MaxBoundPorts   = 1 << 22
	MaxKnown        = 1 << 24
	MaxTallies      = 1 << 20
	MaxPacts        = pactNumbers - 1
	MaxLinks        = linkNumbers - 1
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
	// Single has the programs of the public side protect this machine, which has nobody behind it, and leave all else to the kernel.
	Single bool
	// SingleFlows has them keep sessions, too, so that chains judge the machine's flows: with Single alone.
	SingleFlows bool
	// Stack are those of both that no packet is redirected to: the kernel sends what leaves
	// by them, and shapes it.
	Stack []string
	// Modes are those that are wanted, by interface: Auto where nothing is said.
	Modes map[string]Mode
	// WithoutTCX has the programs attached as kernels before 6.6 do, for tests.
	WithoutTCX bool
	// Capacity is the number of sessions, model.MinCapacity to model.MaxCapacity.
	Capacity int
	// Reserve is how many of them are kept for those that hosts inside open, and how many for
	// those that come from outside, at most a quarter; 0: whoever comes first may have all.
	Reserve int
	// Reservations is the number of reservations that can stand at a time;
	// 0 means DefaultReservations.
	Reservations int
	// Bindings, BoundPorts and Known bound what stands in the pool: services at an address,
	// their ports, and known clients. 0 means the defaults.
	Bindings, BoundPorts, Known int
	// Subscribers bounds the hosts inside whose sessions and ports are counted, and Remotes the
	// remote addresses; those beyond it go without limits of their own. 0 means the default.
	Subscribers, Remotes int
	// Outbound are the addresses of outbound NAT at the start, model.MaxOutbound at most; an adopted
	// data plane keeps those that it has, until SetOutbound.
	Outbound []netip.Addr
	// Slots bounds them, whatever SetOutbound makes of them. 0 means DefaultSlots, or as many as
	// an adopted data plane has.
	Slots int
	// Addresses and Services bound the addresses that are answered for, and
	// what SetPolicy opens; 0 means 4,096 of each.
	Addresses, Services int
	// Owners bounds the hosts that have a public address alone; 0 means 1,024.
	Owners int
	// Names bounds the lent names that questions are answered for; 0 means 4,096.
	Names int
	// Pacts and Links bound what stands with other edges; 0 means DefaultPacts and DefaultLinks.
	Pacts, Links int
	// Logger hears of adoption, fall-backs and failures that do not stop.
	Logger *slog.Logger
}

// Settings are the policy of one generation.
type Settings struct {
	Filtering      model.Filtering
	Timeouts       model.Timeouts
	PortQuarantine time.Duration // with model.EndpointIndependent alone
	// Refuse answers what may open nothing at a pool address, by RST or port unreachable.
	Refuse bool
	// ClientSessions is how many sessions of one client may stand with one binding, of TCP and
	// of all other protocols each; 0: 65,535.
	ClientSessions int
	Limits         Limits
	ForwardIPv6    bool
	// Except are destinations that are reached without NAT, at most MaxExcepts.
	Except []netip.Prefix
	// Own are hosts inside that have a public address alone (1:1), by their private one.
	Own map[netip.Addr]netip.Addr
	// MSS is what a SYN may say at most.
	MSS model.MSS
	// LooseReversePath lets a source inside come by any private interface where it is reached
	// by one; without it only by that one (RFC 3704 section 2).
	LooseReversePath bool
	// NameServer is where the gateway is asked for names from outside: whoever asks there
	// does so for others, so that honeypot and geofence let it. IPv4; may be invalid.
	NameServer netip.AddrPort
	// WebTCP and WebUDP are the ports of web addresses, at most MaxWebPorts of each.
	WebTCP, WebUDP []uint16
	// Coming are addresses that are to be outbound soon, beside those that are.
	Coming []netip.Addr
}

// quarantine is how long a port rests. Where filtering depends on the peer, who got
// the port before cannot be reached by those of the next (RFC 6888 REQ-8c).
func (s *Settings) quarantine() time.Duration {
	if s.Filtering != model.EndpointIndependent {
		return 0
	}
	return s.PortQuarantine
}

// Pacts and links with other edges, where a configuration says nothing.
const (
	DefaultPacts = 4096
	DefaultLinks = 256
)

// DefaultReservations is one for 48 sessions, within 1,024 and 65,536.
func DefaultReservations(capacity int) int { return min(max(capacity/48, 1024), 65536) }

// DefaultBindings is one for 4,096 sessions, within 64 and 4,096: each has a ring of tentative
// sessions, of 256 as far as a sixteenth of the table goes.
func DefaultBindings(capacity int) int { return min(max(capacity/4096, 64), 4096) }

// DefaultBoundPorts is one for 128 sessions, within 4,096 and 65,536.
func DefaultBoundPorts(capacity int) int { return min(max(capacity/128, 4096), 65536) }

// DefaultKnown is a known client for 32 sessions, at least 1,024.
func DefaultKnown(capacity int) int { return min(max(capacity/32, 1024), 1<<20) }

// DefaultTallies is a host inside, and a remote address, for 8 sessions, within 1,024 and 131,072.
func DefaultTallies(capacity int) int { return min(max(capacity/8, 1024), 1<<17) }

// orDefault sets what was left to the data plane, and checks that it is within 1 and most.
func orDefault(value *int, fallback, most int, what string) error {
	if *value == 0 {
		*value = fallback
	}
	if *value < 1 || *value > most {
		return fmt.Errorf("%d %s: use 1 to %d", *value, what, most)
	}
	return nil
}

func (o *Options) check() error {
	if o.Capacity < model.MinCapacity || o.Capacity > model.MaxCapacity {
		return fmt.Errorf("capacity %d is not within %d and %d sessions", o.Capacity, model.MinCapacity, model.MaxCapacity)
	}
	if o.Reserve < 0 || o.Reserve > o.Capacity/4 {
		return fmt.Errorf("a reserve of %d of %d sessions: use a quarter at most", o.Reserve, o.Capacity)
	}
	if len(o.Outbound) > model.MaxOutbound || o.Slots > 0 && len(o.Outbound) > o.Slots {
		return fmt.Errorf("%d outbound addresses: use %d at most", len(o.Outbound), cmp.Or(o.Slots, model.MaxOutbound))
	}
	for _, a := range o.Outbound {
		if !a.Is4() {
			return fmt.Errorf("outbound address %s is not IPv4", a)
		}
	}
	if err := errors.Join(
		orDefault(&o.Reservations, DefaultReservations(o.Capacity), MaxReservations, "reservations"),
		orDefault(&o.Bindings, DefaultBindings(o.Capacity), MaxBindings, "bindings"),
		orDefault(&o.BoundPorts, DefaultBoundPorts(o.Capacity), MaxBoundPorts, "bound ports"),
		orDefault(&o.Known, DefaultKnown(o.Capacity), MaxKnown, "known clients"),
		orDefault(&o.Subscribers, DefaultTallies(o.Capacity), MaxTallies, "subscribers"),
		orDefault(&o.Slots, DefaultSlots(len(o.Outbound)), model.MaxOutbound, "slots for outbound addresses"),
		orDefault(&o.Remotes, DefaultTallies(o.Capacity), MaxTallies, "remote addresses"),
		orDefault(&o.Pacts, DefaultPacts, MaxPacts, "pacts"),
		orDefault(&o.Links, DefaultLinks, MaxLinks, "links"),
	); err != nil {
		return err
	}
	o.Addresses = max(o.Addresses, 4096)
	o.Services = max(o.Services, 4096)
	o.Names = max(o.Names, 4096)
	o.Owners = max(o.Owners, 1024)
	if o.SingleFlows && !o.Single {
		return errors.New("flows of a single machine, which this is not")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
