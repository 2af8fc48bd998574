package config

import (
	"net/netip"
	"time"

	events "github.com/realmgate/realmgate/internal/events/settings"
	ban "github.com/realmgate/realmgate/internal/guard/ban/settings"
	geo "github.com/realmgate/realmgate/internal/guard/geo/settings"
	honeypot "github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	lists "github.com/realmgate/realmgate/internal/guard/lists/settings"
	watch "github.com/realmgate/realmgate/internal/guard/watch/settings"
	"github.com/realmgate/realmgate/internal/model"
	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Config is one complete, validated configuration.
type Config struct {
	Interfaces Interfaces
	Realm      Realm
	DNS        DNS
	Pool       Pool
	Outbound   Outbound
	Timeouts   Timeouts
	Limits     Limits
	Capacity   int // sessions, 1024 to 64000000
	IPv6       IPv6
	MSS        MSS            // of SYNs that pass
	Hosts      []Host         // in the order of the file
	NeverBan   []netip.Prefix // IPv4 and IPv6
	Bans       ban.Bans
	Sets       []rules.Set
	Watches    []watch.Watch
	Lists      []lists.List
	Events     []events.Sink // where events go
	Protection Protection
	Chains     []rules.Chain // as Hosts; the first that matches a flow judges it
}

// Interfaces names the network interfaces of each side. Both lists hold at
// least one name and no name is in them twice.
type Interfaces struct {
	Public, Private []string
	ReversePath     ReversePath // of sources inside
	Stack           []string    // those of both that packets leave by through the kernel's stack
	XDP, TCX        []string    // those of both that are to be attached so, whatever they are
}

// DNS says where the name servers listen and whom they ask.
type DNS struct {
	Public, Private netip.AddrPort   // IPv4, of different addresses
	Interface       string           // instead of an address of Public, which then is unspecified: the interface that has it
	Upstream        []netip.AddrPort // IPv4; empty: other names are refused
	Verify          Verify
	Cache           int // answers kept by the inside resolver, 0 to 1000000
	WaitLimit       int // questions of one host that may wait for upstream, 1 to 4096
	// RebindProtection: addresses inside are taken out of answers of upstream, but for RebindDomainOK.
	RebindProtection bool
	RebindDomainOK   []model.Name
	ClientSubnet     []netip.Prefix // IPv4: resolvers whose EDNS client subnet is believed
	Keys             []Key          // no name twice
}

// Pool configures the circular pool.
type Pool struct {
	Addresses  []netip.Addr // up to 65536, expanded, in the order of the file; with no Interfaces one at least
	Interfaces []string     // whose outbound addresses are of the pool, too
	Order      Order
	Offer      time.Duration // 500ms to 60s
	Rest       time.Duration // 1s to 24h
	Refuse     bool
	Wait       time.Duration // 0s to 5s
	Bands      []Band        // by load, the least first
	Reserve    float64       // 0 to 0.5: the share of the addresses that is kept for newcomers
	Quotas     Quotas
}

// Quotas bounds allocations: Client to Total count allocations per second,
// HalfOpen and HalfOpenPerHost count standing offers, and 0 means no limit. ClientSessions
// counts the open sessions that one client has with one binding, those of TCP apart.
type Quotas struct {
	Client, Resolver, Host, Service, Total int
	HalfOpen, HalfOpenPerHost              int
	ClientSessions                         int // 1 to 65535
}

// Outbound configures translation for hosts that open sessions themselves.
type Outbound struct {
	Addresses  []netip.Addr // at most 64; with no Interfaces either: the first public interface's first IPv4 address
	Interfaces []string     // whose global IPv4 addresses are outbound, too
	Slots      int          // 1 to 64: how many there may be without a restart; 0: two more than at the start, 3 at least
	Filtering  model.Filtering
	Except     []netip.Prefix // at most 64: destinations that are reached without NAT; none holds another
	Quarantine time.Duration  // 0s to 3600s: how long a freed port rests with endpoint-independent filtering (RFC 6888 REQ-8)
}

// Timeouts says how long a session may idle, each 1s to 2592000s.
type Timeouts struct {
	TCPEstablished, TCPTransitory, UDP, UDPUnanswered, DNS, ICMP, Others time.Duration
}

// Protection is asked about every flow before the chain that is for it, in the order of
// its fields.
type Protection struct {
	rules.Lists
	Honeypot honeypot.Honeypot
	geo.Fences
}

// Given reports whether there is anything to ask.
func (p Protection) Given() bool {
	return len(p.Allowlist)+len(p.Blocklist)+len(p.Geofences) > 0 || !p.Honeypot.Ports.Empty()
}
