package bench

import (
	"context"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Device is a device under test. Its methods are called in the order Up, then
// any number of Reset, Count and Memory, then Down; Down also after an Up that
// failed. A Device serves one Rig.
type Device interface {
	// Up makes it forward between the rig's interfaces as the setup says. Where
	// it cannot do that at all, the error is ErrUnsupported.
	Up(ctx context.Context, rig *Rig, setup Setup) error
	// Reset removes all sessions.
	Reset(ctx context.Context) error
	// Count returns how many sessions the device itself says that it has.
	// ErrUnsupported where it has none or does not tell.
	Count(ctx context.Context) (int, error)
	// Memory returns how many bytes its sessions and their indexes take now.
	Memory(ctx context.Context) (int64, error)
	// Down puts everything back.
	Down() error
}

// Model is a kind of device: what is listed and made anew for every rig.
type Model struct {
	Name  string
	About string   // one line
	Tools []string // programs that it needs
	New   func() Device

	// Bytes is how much memory its sessions and their indexes take; nil is none.
	// Held says that it takes it all the time that it is up.
	Bytes func(sessions int) int64
	Held  bool

	// Translates says that it has no other way to pass a session on.
	Translates bool

	// PassesInvalid says that it passes packets that conntrack finds INVALID, and its NAT
	// skips them. An ACK is one whose session is in SYN_SENT, since the responder never had
	// its first packet: it leaves with the source that it came with.
	PassesInvalid bool

	External bool // a box that nobody here sets up, between Options.External
	// Asynchronous says that it decides on a thread of its own: the tester's next
	// frames find it still at work, and must wait.
	Asynchronous bool
}

// ErrUnsupported is what a device returns that does not do what was asked.
var ErrUnsupported = errors.New("the device does not do this")

// Setup is what a device is to do, as far as scenarios need it. The zero value
// is plain forwarding.
type Setup struct {
	// Sessions is how many there will be at most; tables are sized for it.
	Sessions int
	// HashSize is the number of buckets of a table whose size can be chosen apart
	// from that; 0 is what suits Sessions best.
	HashSize int
	// Timeout is how long sessions must live without traffic.
	Timeout time.Duration
	// Track keeps state without translating.
	Track bool
	// NAT is where inside sources are translated to; the zero value translates
	// nothing.
	NAT trafficgen.Addresses
	// Pool is what a device lends by name.
	Pool Pool
	// Web is sites that a device leads to hosts by their names.
	Web Web
	// Queue is for a device that hands first packets to a program.
	Queue Queue
	// DNAT is where destinations are translated to: a rule for each address, in
	// order, so that the rule that matches is at the place of the flow's destination.
	DNAT trafficgen.DNAT
	// Inbound says that sessions begin in the public realm.
	Inbound bool
	// Deny is where nothing may go: each address is a rule that every first packet
	// passes by, unless a scenario sends to it. Those that follow are let through before.
	Deny trafficgen.Addresses
	// Bans is how many addresses, none of them the tester's, a device has banned that
	// knows bans.
	Bans int
	// Blocked is how many addresses, none of them the tester's, a device has on its
	// blocklist that has a protection, with a geofence and a honeypot beside it.
	Blocked int
	// Allow, unless it is empty, is where alone anything may go, statelessly:
	// destinations from the first of Destinations on, a rule for each.
	Allow method.Arrangement
	// Pass, unless it is empty, is where alone sessions may go, a rule for each address.
	Pass trafficgen.Addresses
	// Mark marks what comes from inside, and NoTrack exempts it from Track.
	Mark, NoTrack bool
}

// Acquainter is a Device that lends addresses by name, and lets further sessions of a client
// in for having had some: those that made it known are ended before anything is measured.
type Acquainter interface {
	// Lend lends all addresses. Their first packets are to come within a minute.
	Lend(ctx context.Context) error
	EndSessions(ctx context.Context) error
}

// Pauser is a Device with a process of its own, which is up for a point of a sweep and is to
// take no time from the others.
type Pauser interface {
	Pause() error
	Resume() error
}

// Loader is a Device whose rules can be loaded again by themselves.
type Loader interface {
	// Load removes all rules, loads them again as one transaction, and returns how
	// long the loading took.
	Load(ctx context.Context) (time.Duration, error)
	// Add adds one more rule to deny an address, by a command of its own, and
	// returns how long that took. The next Load removes it.
	Add(ctx context.Context) (time.Duration, error)
}
