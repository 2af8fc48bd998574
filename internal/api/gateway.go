package api

import (
	"context"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Gateway is what the API needs of the daemon, and of what the daemon consists of. All methods may be called
// concurrently.
type Gateway interface {
	BanCommands
	CaptureCommands
	ChainCommands
	ConfigCommands
	EventCommands
	HandoverCommands
	FlowCommands
	JailCommands
	ListCommands
	LogCommands
	MetricsPage
	SessionCommands
	StreamCommands
	TokenCommands
	Status() (Status, error)
	// Ready is nil while packets and names are served.
	Ready(context.Context) error
	// Country is where an address is, as ISO 3166-1 has it; empty where nobody knows.
	Country(netip.Addr) string
	// Pool returns the bindings, by address.
	Pool(filter Filter) ([]Binding, error)
	PoolMap() (PoolMap, error)
	Hosts(filter Filter) ([]Host, error)
	// Listing returns the rows of one of Listings, a slice, that the filter lets through.
	Listing(name string, filter Filter) (rows any, err error)
	// Explain says what would decide about a new flow, and changes nothing.
	Explain(ExplainRequest) (Explanation, error)
	// Drops calls visit for a sample of the packets that are dropped, as it
	// happens, until ctx ends or visit returns false. It calls visit from one
	// goroutine at a time, and visit never waits.
	Drops(ctx context.Context, filter Filter, visit func(Drop) bool) error
}

// SessionCommands are those about sessions.
type SessionCommands interface {
	// Sessions calls visit for each session with a number above after that the
	// filter lets through, by their numbers, until visit returns false.
	Sessions(filter Filter, after uint32, visit func(Session) bool) error
	// EndSessions ends at once the sessions that the filter lets through, and
	// returns how many, beside an error too.
	EndSessions(filter Filter) (int, error)
}

// FlowCommands are those about what becomes of flows.
type FlowCommands interface {
	// Observe calls visit for some of the flows that are open, the youngest, and then for everything new if that is wanted, until
	// ctx ends or visit returns false, which may wait: what comes too fast for it is lost and counted.
	Observe(ctx context.Context, request ObserveRequest, visit func([]Flow) bool) error
}

// BanCommands are those about bans.
type BanCommands interface {
	Bans() ([]Ban, error)
	// AddBans bans prefixes, all of them or, with an error, none. When it returns they
	// outlive a crash.
	AddBans(BanRequest) (BanChange, error)
	// RemoveBans ends bans; prefixes that are not banned do not count.
	RemoveBans(BanRequest) (BanChange, error)
}

// CaptureCommands are those about copies of packets.
type CaptureCommands interface {
	// Capture calls visit with copies of packets that functions of a chain told to take,
	// in their order, until ctx ends or visit returns false, which may wait: what comes
	// too fast for it is counted as lost. It calls started before that, once packets are
	// copied. An error of type Absent says that there is nothing to capture.
	Capture(ctx context.Context, request CaptureRequest, started func(), visit func([]Packet) bool) error
	// CaptureDrops does the same with the sample of packets that are dropped, of each the beginning.
	CaptureDrops(ctx context.Context, started func(), visit func([]Packet) bool) error
}

// ChainCommands are those about chains.
type ChainCommands interface {
	// Chains returns the chains in force, in the order in which they are sought.
	Chains() ([]Chain, error)
	// InsertFunction, RemoveFunction and MoveFunction change a chain until the next
	// reload. An error changes nothing.
	InsertFunction(ChainRequest) (ChainChange, error)
	RemoveFunction(ChainRequest) (ChainChange, error)
	MoveFunction(ChainRequest) (ChainChange, error)
	// SaveChains writes the chains that were changed to the configuration file.
	SaveChains(Request) (ChainsSaved, error)
}

// EventCommands are those about events.
type EventCommands interface {
	// Events returns the sinks of events, in the order of the configuration.
	Events() ([]Sink, error)
}

// JailCommands are those about jails.
type JailCommands interface {
	// Jails returns the logs that are watched, in the order of the configuration.
	Jails() ([]Jail, error)
}

// ListCommands are those about lists.
type ListCommands interface {
	// Lists returns the lists of addresses that are fetched, in the order of the file.
	Lists() ([]List, error)
	// RefreshLists makes lists be fetched now, all of those named or, with an error,
	// none. It does not wait for them.
	RefreshLists(ListRequest) (ListChange, error)
}

// Filter chooses entries of a listing; zero fields let everything through.
type Filter struct {
	Address  netip.Addr     `json:"address,omitzero"`  // any of the entry's addresses
	Port     uint16         `json:"port,omitempty"`    // any of its ports
	Protocol model.Protocol `json:"protocol,omitzero"` // model.AnyProtocol: every one
	Host     string         `json:"host,omitempty"`    // name of a configured host or of one of its services
}

// Status is how the gateway is.
type Status struct {
	Health     string      `json:"health"` // how it is, in a sentence
	Instance   string      `json:"instance"`
	Version    string      `json:"version"`
	PID        int         `json:"pid"`
	Config     string      `json:"config"`
	Started    time.Time   `json:"started"`
	Adopted    bool        `json:"adopted"` // took over an earlier daemon's data plane
	Generation uint32      `json:"generation"`
	Interfaces []Interface `json:"interfaces"`
	Outbound   []Outbound  `json:"outbound"` // addresses that live, and those that drain
	Slots      int         `json:"outbound_slots"`
	Sessions   Gauge       `json:"sessions"`
	Mappings   Gauge       `json:"mappings"`
	Half       Gauge       `json:"half_open"`            // reservations standing in the circular pool
	Addresses  Gauge       `json:"pool_addresses"`       // that have a service, or rest
	Places     Gauge       `json:"pool_services"`        // that have an address, of all
	Registered *Gauge      `json:"registered,omitempty"` // hosts that have registered themselves; nil: none may
	Bans       int         `json:"bans"`                 // also those that are not in force
	Bytes      uint64      `json:"bytes"`                // memory of the data plane's tables
	ChainBytes uint64      `json:"chain_bytes"`          // memory of the programs of chains and the tables that are theirs alone
	Lent       uint64      `json:"lent"`                 // answers with an address, ever
	Claimed    uint64      `json:"claimed"`              // of these: a client came
	Expired    uint64      `json:"expired"`              // of these: none came in time
	Moved      uint64      `json:"moved"`                // services that lost their address to another, ever
	Refusals   uint64      `json:"refusals"`             // RST and port unreachable sent, ever

	// Overflowed counts SYNs to the pool that were answered by cookies, as their service had no room for further unproved
	// connections, KnownFull clients for which the table of known clients had no room, ever.
	Overflowed uint64 `json:"overflowed"`
	KnownFull  uint64 `json:"known_full"`
	// SubscribersFull counts sessions that no host inside has for its limits, as there was no place, RemotesFull those
	// that no remote address has, ever.
	SubscribersFull uint64 `json:"subscribers_full"`
	RemotesFull     uint64 `json:"remotes_full"`

	// Unconfirmed is a reload that is undone unless it is confirmed; nil: there is none.
	Unconfirmed *Unconfirmed `json:"unconfirmed,omitempty"`

	Web      *Web          `json:"web,omitempty"`   // nil: there are no web addresses
	Asked    []Asked       `json:"asked,omitempty"` // functions ask
	DNS      DNS           `json:"dns"`
	Reasons  []ReasonCount `json:"reasons"`  // how packets ended; only those above zero
	Warnings []string      `json:"warnings"` // what is wrong and what to do, a line each

	// ChangedChains are those that are not as the configuration file has them.
	ChangedChains []ChangedChain `json:"changed_chains"`
}

// Outbound is an outbound address.
type Outbound struct {
	Address netip.Addr `json:"address"`
	State   string     `json:"state"` // live, or draining: it has left, and ports of it still rest
	Hosts   float64    `json:"hosts"` // the part of all possible hosts that leaves by it, 0 to 1
}

// ChangedChain is a chain that commands changed.
type ChangedChain struct {
	Chain   string   `json:"chain"`
	Changes []string `json:"changes"` // such as "inserted no-smtp"
}

// Gauge is a use and its bound; a bound of 0 is none.
type Gauge struct {
	Used     uint64 `json:"used"`
	Capacity uint64 `json:"capacity"`
}

// Web counts connections to web addresses, until each is a session. All but Waiting are of this daemon, ever.
type Web struct {
	Waiting  int    `json:"waiting"`  // now, for their names or their hosts
	Read     uint64 `json:"read"`     // whose name was read
	Opened   uint64 `json:"opened"`   // that became sessions
	Refused  uint64 `json:"refused"`  // that came to nothing, for whatever reason
	Full     uint64 `json:"full"`     // frames not heard, as their source or all had as many connections waiting as may
	Again    uint64 `json:"again"`    // first data that came again while their name was read or their host asked
	Replayed uint64 `json:"replayed"` // frames that were sent again
	// Times counts opened ones by how long they took from their first data: up to 0.25, 0.5, 1, 3 and 30 ms, and longer.
	Times []uint64 `json:"times"`
}

// Asked counts the flows that a program of a function ask was asked about. All but Waiting are since the function was there.
type Asked struct {
	Function string `json:"function"` // chain/function
	Waiting  int    `json:"waiting"`  // now
	Asked    uint64 `json:"asked"`
	Failed   uint64 `json:"failed"` // of these, without an answer in time
	Full     uint64 `json:"full"`   // frames not heard, as too many waited, or came: their senders send them again
}

// DNS counts what the name servers did, outside and inside.
type DNS struct {
	Queries        uint64 `json:"queries"`
	Answered       uint64 `json:"answered"`
	Refused        uint64 `json:"refused"`
	Distrusted     uint64 `json:"distrusted"` // of the refused: the pool was too full for the asker's reputation
	Truncated      uint64 `json:"truncated"`
	Exhausted      uint64 `json:"exhausted"`
	Forwarded      uint64 `json:"forwarded"`
	UpstreamFailed uint64 `json:"upstream_failed"`
	WaitLimited    uint64 `json:"wait_limited"`   // not answered: the host had as many waiting for upstream as it may
	RebindBlocked  uint64 `json:"rebind_blocked"` // answers of upstream without the addresses inside that they held
	OwnRemoved     uint64 `json:"own_removed"`    // answers of upstream without the records of own zones that they held
	NotInside      uint64 `json:"not_inside"`     // questions to the inside resolver from elsewhere
}

// ReasonCount counts the packets that ended with a reason.
type ReasonCount struct {
	Reason  model.Reason `json:"reason"`
	Packets uint64       `json:"packets"`
}

// Interface is one of the gateway's interfaces.
type Interface struct {
	Name     string `json:"name"`
	Side     string `json:"side"`     // public or private
	Mode     string `json:"mode"`     // xdp, tcx, clsact before Linux 6.6, or absent when it has vanished
	Why      string `json:"why"`      // the mode is that; empty when it has vanished
	Redirect bool   `json:"redirect"` // frames reach it by redirect; else through the kernel's stack
}

// Session is one 5-tuple pair through the gateway.
type Session struct {
	Number   uint32         `json:"-"` // its place in the listing
	Protocol model.Protocol `json:"protocol"`
	Private  netip.AddrPort `json:"private"`
	External netip.AddrPort `json:"external"`
	Remote   netip.AddrPort `json:"remote"`
	State    string         `json:"state"`  // open, syn, syn_both, established, fin_out, fin_in, fin_both, rst
	Origin   string         `json:"origin"` // inside, mapping, pool, cookie, web, dnat, own, own_in, basic, edge_out or edge_in
	Host     string         `json:"host,omitempty"`
	Name     string         `json:"name,omitempty"` // that was asked for, for sessions from the pool
	Hairpin  bool           `json:"hairpin,omitempty"`
	Age      float64        `json:"age"`  // seconds
	Idle     float64        `json:"idle"` // seconds
}

// Binding is a service at an address of the pool.
type Binding struct {
	Address      netip.Addr   `json:"address"`
	Service      string       `json:"service"` // the first of its names
	Host         string       `json:"host"`
	Private      netip.Addr   `json:"private"`
	Ports        []model.Port `json:"ports"`        // as "tcp/80:8080"
	State        string       `json:"state"`        // bound, or resting: nobody else may have the ports yet
	Sessions     int          `json:"sessions"`     // that stand
	Reservations int          `json:"reservations"` // answers that wait for a client
	Claims       int          `json:"claims"`       // clients that may still come by those
	Rests        float64      `json:"rests"`        // seconds until another host may have the place, should nobody use it meanwhile
}

// Host is a host of the private realm, and what of it is open from outside.
type Host struct {
	Name     string       `json:"name"`
	Address  netip.Addr   `json:"address"`
	Open     []model.Port `json:"open"`     // what its own name opens; nothing: it is closed
	Services []Service    `json:"services"` // all that is open, by whatever name
	// Source is by what a host has registered itself, as kea or update; left out: the configuration has it.
	Source string    `json:"source,omitempty"`
	Ends   time.Time `json:"ends,omitzero"` // when its lease ends; left out: never by itself
}

// Service is what its names open, each of them all of the ports.
type Service struct {
	Names []string     `json:"names"` // the first tells it from others
	Ports []model.Port `json:"ports"` // as tcp/80, tcp/80:8080 (8080 on the host), icmp or all
}

// Chain is a row of network functions for the flows that it matches.
type Chain struct {
	Name      string              `json:"name"`
	Match     []map[string]string `json:"match"`     // any of them, as in the configuration; what is left out matches all
	Functions []Function          `json:"functions"` // in the order in which they are asked
	Changes   []string            `json:"changes"`   // by command, that the configuration file does not have
}

// ChainRequest says what to change in a chain. Where a function is put is said by at
// most one of Before, After and Priority.
type ChainRequest struct {
	Chain    string `json:"chain"`
	Function string `json:"function"` // its name; of one to insert its entry, in YAML
	Before   string `json:"before,omitempty"`
	After    string `json:"after,omitempty"`
	Priority *int   `json:"priority,omitempty"`

	Expected Expected `json:"-"` // generation
}

// ChainChange says what a change put into force.
type ChainChange struct {
	Generation uint32   `json:"generation"`
	Chain      string   `json:"chain"`
	Functions  []string `json:"functions"` // in the order in which they are asked
}

// ChainsSaved says which chains were written to the configuration file.
type ChainsSaved struct {
	Config string   `json:"config"`
	Chains []string `json:"chains"`
}

// Function is a network function of a chain, and what it did since it is in force.
type Function struct {
	Name     string `json:"name"`
	Use      string `json:"use"`
	Priority int    `json:"priority"`
	Seen     uint64 `json:"seen"`     // packets that it was asked about
	Accepted uint64 `json:"accepted"` // of these: let pass at once
	Dropped  uint64 `json:"dropped"`
	Failed   uint64 `json:"failed"`  // it could not say
	Samples  uint64 `json:"samples"` // times it was timed: once in 1,024
	NsEach   uint64 `json:"ns_each"` // what it took on average, ns
	// Backends are those of multipath.
	Backends []Backend `json:"backends,omitempty"`
}

// Backend is a private endpoint that multipath sends flows to.
type Backend struct {
	To     netip.Addr `json:"to"`
	Port   uint16     `json:"port"` // 0: the flow's own
	Weight int        `json:"weight"`
	State  string     `json:"state"`           // up, down or unchecked
	Since  time.Time  `json:"since,omitzero"`  // left out: nobody has asked it yet
	Error  string     `json:"error,omitempty"` // of the last check
}

// Ban is a remote address or prefix whose packets are dropped.
type Ban struct {
	Prefix netip.Prefix `json:"prefix"`
	Since  time.Time    `json:"since"`
	Until  time.Time    `json:"until,omitzero"` // left out: for ever
	Reason string       `json:"reason"`         // "manual", or as "jail ssh: 5 failures, offence 1"; empty: from before reasons were kept
	// Offence is how often the address has offended; 0: the ban is by hand, or of a subnet.
	Offence int `json:"offence,omitempty"`
	// Exempt says what keeps the ban out of force, or, after "in part: ", some of it.
	Exempt string `json:"exempt,omitempty"`
}

// BanRequest says what to ban, or to ban no more.
type BanRequest struct {
	Prefixes []netip.Prefix `json:"prefixes"`
	Seconds  float64        `json:"seconds,omitempty"` // 0: for ever
}

// MostWider is how many bans a BanChange names of either kind.
const MostWider = 4

// BanChange says how many prefixes are banned anew, or no more.
type BanChange struct {
	Prefixes int            `json:"prefixes"`
	Wider    []netip.Prefix `json:"wider,omitempty"` // whose bans go on, and have some that were to be banned no more: at most MostWider
	// Longer are bans that hold for longer than was asked for, and were left as they are: of the prefixes, or of wider ones. At most
	// MostWider.
	Longer []Ban `json:"longer,omitempty"`
}

// Reload says what a reload put into force.
type Reload struct {
	Generation uint32 `json:"generation"`
	Hosts      int    `json:"hosts"`
	Confirm    int    `json:"confirm,omitempty"` // seconds until it is undone, unless it is confirmed
	Dropped    int    `json:"dropped,omitempty"` // changes of chains by command that are no more
}

// Ended says how many sessions were ended.
type Ended struct {
	Sessions int `json:"sessions"`
}
