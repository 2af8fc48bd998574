package allocation

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// Plane is the data plane as far as names need it. *datapath.Datapath is one.
type Plane interface {
	Bind(datapath.Binding) error
	Rebind(datapath.Binding) error
	Unbind(id uint64) error
	BindingUse(id uint64) (used model.Instant, sessions int)
	BindingUses(visit func(id uint64, used model.Instant, sessions int)) error
	SlotVacant(slot uint32) bool
	Bindings() ([]datapath.Binding, error)
	Reserve(datapath.Reservation) error
	Extend(id uint64, granted int) error
	Withdraw(id uint64) (datapath.Withdrawn, error)
	Reservations() ([]datapath.Reservation, error)
	Sessions(visit func(datapath.Session)) error
	EndSessions(match func(datapath.Session) bool) (int, error)
}

// Events hears what happens to the pool.
type Events interface {
	Emit(event.Event)
}

// Options configure an Allocator.
type Options struct {
	Plane  Plane
	Store  Store
	Events Events
	Loans  Loans       // nil: nobody hears
	Claims func(Claim) // hears that an answer has its first client; nil: nobody does. It must not wait
	Log    *slog.Logger
	Now    func() model.Instant // on the data plane's clock
	Wall   func() time.Time     // which goes on over a reboot
}

// Claim is the first client that came by an answer.
type Claim struct {
	Name  string // that was asked
	Asker netip.Addr
	After time.Duration // the answer
}

// Allocator is a nameserver.Allocator. Call New.
type Allocator struct {
	*state
	*claims
	*questions
	*restorer
	*relief
	*ring
}

// state is what all parts of an Allocator know.
type state struct {
	options Options
	log     *slog.Logger
	keeper  *keeper
	kick    chan struct{} // tells the timers that their next event moved

	mutex     sync.Mutex // guards what follows, and what the parts have
	config    Config
	pool      *pool.Pool
	admission *policy.Admission
	holdings  *policy.Holdings // by answers that nobody has used
	alone     *policy.Holdings // by being the only one who uses them
	users     *policy.Users
	services  map[model.Name]pool.Service
	tickets   map[netip.Addr]uint64 // by which the keeper was told last whose an address is
	pressure  pressure
	lacked    policy.Last // whose question had no address
	counts    counters
	wanted    wanted
	looked    model.Instant // at how many addresses something keeps
	busy      int
	until     map[netip.Addr]time.Time // when what an earlier process had in the pool, and this one has not, has rested
}

// claims are what the data plane tells of reservations.
type claims struct{ *state }

// questions are those that name servers have, and their answers.
type questions struct {
	*state
	*claims
	line    []*waiting            // over TCP and without an answer yet, in the order they came
	woken   model.Instant         // when the line was last
	refused recent                // without an address
	tally   map[model.Name]*asked // of services
}

// restorer takes up what an earlier process left.
type restorer struct {
	*state
	adopted  map[uint32]bool     // slots of bindings in the data plane
	restored uint32              // the next slot for one that is taken up from the file
	unclear  map[netip.Addr]bool // addresses that rest since the start, whoever had them: the file keeps what it has
}

// relief takes from client networks what they keep beyond their share.
type relief struct{ *state }

// Counts are what an Allocator did.
type Counts struct {
	Distrusted uint64 // refused by load and reputation
	Shared     uint64 // refused because the asker keeps its share unused
	Exhausted  uint64 // questions without an address; the same one within a second counts once
}

// counters is the live form of Counts.
type counters struct{ distrusted, shared, exhausted atomic.Uint64 }
