package ban

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/store"
)

// lookEvery is how often bans that are over are ended, and what kernel or disk refused is tried again.
const lookEvery = time.Second

// Why a ban has ended, as events say it.
const (
	Expired    = "expired"
	Removed    = "removed"
	Evicted    = "evicted"    // to others: there were too many
	Aggregated = "aggregated" // its subnet is banned in its place
)

// Kernel drops packets of the prefixes that it is told. *datapath.Datapath is one.
type Kernel interface {
	// PutBans bans prefixes, each until then.
	PutBans(until map[netip.Prefix]time.Time) error
	// ExcludeFromBans makes bans of wider prefixes leave out some, until DeleteBans or PutBans of them.
	ExcludeFromBans([]netip.Prefix) error
	DeleteBans([]netip.Prefix) error
	// Banned lists the prefixes that it was told of either way.
	Banned() ([]netip.Prefix, error)
	// JudgeAgain has all sessions ask for bans.
	JudgeAgain() error
}

// Rules are those of the configuration in force.
type Rules struct {
	Growth
	Subnet     int                      // so many banned addresses of a subnet ban all of it
	Multiplier func(netip.Addr) float64 // by where an address is
}

// RulesOf are those of a configuration. factor is by how much a ban is longer in some regions.
func RulesOf(c *config.Config, factor func([]model.RegionFactor, netip.Addr) float64) Rules {
	b := c.Bans
	return Rules{
		Growth: Growth{Factor: b.Factor, Cap: b.Cap, Memory: b.Memory}, Subnet: b.Subnet,
		Multiplier: func(a netip.Addr) float64 { return factor(b.Regions, a) },
	}
}

// Options are what a Service needs.
type Options struct {
	Folder string // of the store, for people
	Events Events
	Rules  func() Rules
	// Exempt looks who must not be banned by now.
	Exempt  func() (Exempt, error)
	Log     *slog.Logger
	Running func() time.Duration // for how long the machine is up, its sleep included
}

// state is what all parts of a Service share.
type state struct {
	Options
	kernel   Kernel
	store    *store.Store
	known    atomic.Pointer[totals] // of when somebody could look last
	mutex    sync.Mutex             // guards what follows, and what the parts keep
	list     List
	offences Offences
	made     counts
	guard    *guard // nil: before the bans are loaded
}

// Service keeps the bans in force: in its list, in the kernel and on the disk, but for who must not be banned. Call New.
type Service struct {
	*state
	inKernel
	onDisk
	clock Clock
	told  map[netip.Addr]time.Time
	look  chan struct{} // tells Run that others must not be banned now
}

// New makes a service without bans.
func New(o Options) *Service {
	s := &state{Options: o}
	return &Service{state: s, inKernel: inKernel{state: s}, onDisk: onDisk{state: s}, look: make(chan struct{}, 1)}
}

// Open is the change that puts the bans of a store into force, and into a kernel. Nothing else is called before it.
func (s *Service) Open(kernel Kernel, kept *store.Store) lifecycle.Change {
	s.kernel, s.store = kernel, kept
	return lifecycle.Change{Commit: s.load}
}

// Prepare is the change that looks anew who must not be banned.
func (s *Service) Prepare() lifecycle.Change { return lifecycle.Change{Settle: s.exemptAgain} }

// Report says how many bans there are, and that the disk has not what is in force. It does not wait for a disk that is slow.
func (s *Service) Report(status *api.Status) error {
	status.Bans = s.total().now.all()
	if fault := s.fault.Load(); fault != nil {
		status.Warnings = append(status.Warnings, fmt.Sprintf("%d changes of bans are in force but not on the disk, and a restart undoes them: %v: "+
			"make room in %s, or make it writable", fault.entries, fault.err, s.Folder))
	}
	return nil
}

// AddBans implements api.BanCommands: all of the prefixes are banned or, with an error, none. Bans that hold for longer stay as they
// are, and are told.
func (s *Service) AddBans(r api.BanRequest) (api.BanChange, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	guard, err := s.lookAtGuard()
	if err != nil {
		return api.BanChange{}, err
	}
	now, until := s.now(), time.Time{}
	if r.Seconds > 0 {
		until = now.Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	made, err := s.list.Plan(now, until, Manual, r.Prefixes, guard.why)
	if err != nil {
		return api.BanChange{}, err
	}
	made = slices.DeleteFunc(made, s.list.Exceeds)
	gone, err := s.list.Evict(made, nil)
	if err != nil {
		return api.BanChange{}, err
	}
	// The disk comes first: what is answered outlives a crash.
	edit, err := bansEdit(made, gone)
	if err == nil {
		err = s.store.ChangeAll(edit)
	}
	if err != nil {
		return api.BanChange{}, err
	}
	s.unsaved.bans.Saved(slices.Concat(prefixesOf(made), gone))
	if err := s.enforce(made, nil, gone); err != nil {
		return api.BanChange{}, err
	}
	change := api.BanChange{Prefixes: len(made)}
	for _, b := range s.list.Longer(r.Prefixes, until, api.MostWider) {
		change.Longer = append(change.Longer, shown(b, s.exemptText(b.Prefix)))
	}
	return change, nil
}

func prefixesOf(bans []Ban) []netip.Prefix {
	list := make([]netip.Prefix, len(bans))
	for i, b := range bans {
		list[i] = b.Prefix
	}
	return list
}

// enforce puts bans into force, in place of others and of those that give way. Under the mutex.
func (s *Service) enforce(made []Ban, instead, gone []netip.Prefix) error {
	if len(made) == 0 {
		return nil
	}
	s.list.Remove(slices.Concat(instead, gone))
	s.list.Put(made)
	s.made.count(made)
	teller{s.Events}.banned(made)
	teller{s.Events}.unbanned(instead, Aggregated)
	// Those that give way go first, as the kernel may be full, and those in whose place
	// others are only after these.
	err := errors.Join(s.evict(gone), s.kernel.PutBans(s.effective(s.list.Under(prefixesOf(made)))), s.kernel.DeleteBans(instead))
	if err != nil {
		s.late = true
		return fmt.Errorf("the bans are kept, and those that the kernel refused are tried again: %w", err)
	}
	s.Log.Info("banned", "first", made[0].Prefix, "prefixes", len(made), "until", untilText(made[0].Until), "reason", made[0].Reason)
	return nil
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return "for ever"
	}
	return t.UTC().Format(time.RFC3339)
}

// evict ends bans of offenders that the list has no room for.
func (s *Service) evict(gone []netip.Prefix) error {
	if len(gone) == 0 {
		return nil
	}
	s.Log.Warn("too many bans", "first", gone[0], "prefixes", len(gone), "most", MostAutomatic)
	teller{s.Events}.unbanned(gone, Evicted)
	return s.lift(gone)
}

// RemoveBans implements api.BanCommands: the offences of all in the prefixes are forgotten.
func (s *Service) RemoveBans(r api.BanRequest) (api.BanChange, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := make([]netip.Prefix, 0, len(r.Prefixes))
	for _, p := range r.Prefixes {
		if p.IsValid() {
			asked = append(asked, p.Masked())
		}
	}
	// The disk first, and there and in the kernel also what the list has no more: a repeated
	// command mends. Bans that the disk has nothing of end also where it takes nothing.
	forgiven := s.offences.Within(asked)
	offenders := slices.Concat(asked, forgiven)
	onDisk := slices.DeleteFunc(slices.Clone(asked), s.unsaved.bans.Only)
	known := slices.DeleteFunc(slices.Clone(offenders), s.unsaved.offences.Only)
	err := s.store.ChangeAll(store.Edit{Bucket: bansBucket, Remove: keysOf(onDisk)}, store.Edit{Bucket: offencesBucket, Remove: keysOf(known)})
	if err != nil && len(onDisk) > 0 {
		return api.BanChange{}, err
	}
	s.unsaved.bans.Saved(asked)
	if err == nil {
		s.unsaved.offences.Saved(offenders)
	} else {
		s.unsaved.offences.Remove(forgiven)
	}
	s.tellDisk(err)
	s.offences.Forgive(forgiven)
	removed := s.list.Remove(asked)
	teller{s.Events}.unbanned(removed, Removed)
	if err := s.lift(asked); err != nil {
		return api.BanChange{}, fmt.Errorf("the bans are removed, and what the kernel refused is tried again: %w", err)
	}
	s.Log.Info("unbanned", "prefixes", len(removed), "offenders_forgiven", len(forgiven))
	return api.BanChange{Prefixes: len(removed), Wider: s.list.Wider(asked, api.MostWider)}, nil
}

// Run keeps the bans true until ctx ends. It may wait for the disk, and for who does.
func (s *Service) Run(ctx context.Context) error {
	refresh := time.NewTicker(lookEvery)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.look:
			s.exemptAgain()
		case <-refresh.C:
			if err := s.follow(); err != nil {
				s.Log.Error("kernel bans not updated", "error", err)
			}
		}
	}
}

// follow removes the bans that are over, whose packets the kernel has let pass since
// then, and puts those that it refused, and those that the disk did.
func (s *Service) follow() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	var late error
	if s.late {
		late = s.syncKernel()
		s.late = late != nil
	}
	if over := s.list.Expire(now); len(over) > 0 {
		teller{s.Events}.unbanned(over, Expired)
		s.unsaved.bans.Remove(over)
		late = errors.Join(late, s.lift(over))
	}
	s.save()
	return late
}

// Bans implements api.BanCommands.
func (s *Service) Bans() ([]api.Ban, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := []api.Ban{}
	for _, b := range s.list.All() {
		list = append(list, shown(b, s.exemptText(b.Prefix)))
	}
	return list, nil
}

func shown(b Ban, exempt string) api.Ban {
	return api.Ban{Prefix: b.Prefix, Since: b.Since, Until: b.Until, Reason: b.Reason, Offence: b.Offence, Exempt: exempt}
}

// exemptText says what of a ban is not in force, and why.
func (s *Service) exemptText(p netip.Prefix) string {
	part := ""
	switch {
	case s.excluded.Part[p]:
		part = "in part: "
	case !s.excluded.Whole[p]:
		return ""
	}
	if err := s.guard.why(p); err != nil {
		return part + err.Error()
	}
	return part + "by the allowlist"
}
