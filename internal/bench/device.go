package bench

import (
	"context"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/bench/trafficgen"
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
	// Asynchronous says that it decides on a thread of its own: the tester's next
	// frames find it still at work, and must wait.
	Asynchronous bool
	New          func() Device
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
	// Queue is for a device that hands first packets to a program.
	Queue Queue
}

// Queue says how first packets wait for a program that decides about them.
type Queue struct {
	Count  int  // of queues, each with a thread of its own; 0 is 1
	ByCPU  bool // packets go to the queue of the CPU that received them, else to that of their addresses
	Length int  // packets that may wait in one; 0 is the kernel's own limit
}

// Decider is a Device whose program decides about every new session.
type Decider interface {
	Decisions() (Decisions, error)
}

// Decisions is what a Decider's program has done so far.
type Decisions struct {
	Made       uint64
	QueueFull  uint64        // packets that the kernel dropped since their queue was full
	SocketFull uint64        // and since the program's socket was
	Overruns   uint64        // times that the program was told of the latter (ENOBUFS)
	Time       time.Duration // CPU time of the program, with the kernel's work in its calls
}
