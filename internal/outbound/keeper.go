package outbound

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

const (
	// lookEvery is how often interfaces are looked at even when the kernel says nothing.
	lookEvery = time.Second
	// tendEvery is how often hosts without mappings are spread over the addresses, and slots
	// that have drained are let go of.
	tendEvery = 30 * time.Second
)

// Options are what a Keeper needs.
type Options struct {
	InForce func() InForce // asked between changes
	// Events hears of each change, before others can see it.
	Events interface{ Emit(event.Event) }
	// Apply is called after looks, for what follows the addresses. It may wait for another change: looks go on.
	Apply func(context.Context)
	Log   *slog.Logger
}

// Keeper makes the outbound addresses what a plan says, again and again. Call New.
type Keeper struct {
	options Options
	plane   Plane // nil until Open

	mutex    sync.Mutex // held while they change
	plan     Plan
	look     func(Plan) ([]netip.Addr, error) // Plan.Look
	revision int                              // of plan and addresses: what was seen at another is old
	changing bool                             // from Prepare until its change settles or is discarded
	missed   bool                             // a look came meanwhile
	now      []netip.Addr                     // that live
	past     map[netip.Addr]bool              // that interfaces had
	stale    bool                             // the data plane has not taken them
	pending  datapath.OutboundChange          // what it has done of a change that is not over
	said     string                           // what was wrong last
}

// New makes a keeper without addresses.
func New(o Options) *Keeper { return &Keeper{options: o, look: Plan.Look, past: map[netip.Addr]bool{}} }

// Open is the change that begins with the addresses that a configuration had a moment ago: an adopted data plane may have
// others.
func (k *Keeper) Open(plane Plane, c *config.Config, addresses []netip.Addr) lifecycle.Change {
	k.plane = plane
	return lifecycle.Change{Commit: func() error {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		k.plan = PlanOf(c)
		return k.set(addresses)
	}}
}

// Prepare is the change to another configuration, with the addresses that it had a moment ago. Looks take nothing until it
// is over: the data plane may have half of it already, and InForce nothing.
func (k *Keeper) Prepare(c *config.Config, addresses []netip.Addr) lifecycle.Change {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.changing = true
	k.revision++
	return lifecycle.Change{Settle: func() { k.settle(PlanOf(c), addresses) }, Discard: k.discard}
}

// settle takes another plan. Where a look has seen other addresses than the change, they are looked at anew.
func (k *Keeper) settle(plan Plan, addresses []netip.Addr) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.plan = plan
	k.end(addresses, k.missed || !slices.Equal(addresses, k.now))
}

// discard keeps the plan.
func (k *Keeper) discard() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.end(k.now, k.missed || k.stale)
}

// end ends a change.
func (k *Keeper) end(addresses []netip.Addr, anew bool) {
	k.changing, k.missed = false, false
	if anew {
		if found, err := k.look(k.plan); err == nil {
			addresses = found
		}
	}
	k.stale = k.stale || len(k.options.InForce().left(addresses)) > 0 // the change has put them back into the pool
	if err := k.set(addresses); err != nil {
		k.options.Log.Error("outbound address update failed", "error", err)
	}
}

// Addresses are those that live.
func (k *Keeper) Addresses() []netip.Addr {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return slices.Clone(k.now)
}

// Past reports whether an address was an interface's, and is no more.
func (k *Keeper) Past(a netip.Addr) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.past[a] && !slices.Contains(k.now, a)
}

// Run follows the interfaces until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	look, tend := time.NewTicker(lookEvery), time.NewTicker(tendEvery)
	defer look.Stop()
	defer tend.Stop()
	var updates chan netlink.AddrUpdate
	done := make(chan struct{})
	defer func() { close(done) }()
	looked := make(chan struct{}, 1)
	var applying sync.WaitGroup
	defer applying.Wait()
	applying.Go(func() { k.apply(ctx, looked) })
	for {
		if updates == nil {
			updates = k.subscribe(done)
		}
		select {
		case <-ctx.Done():
			return
		case _, open := <-updates:
			if !open {
				updates = nil
			}
		case <-look.C:
		case <-tend.C:
			if err := k.plane.TendSlots(); err != nil {
				k.options.Log.Warn("outbound slot update failed", "error", err)
			}
			continue
		}
		k.Look()
		select {
		case looked <- struct{}{}:
		default:
		}
	}
}

func (k *Keeper) apply(ctx context.Context, looked <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-looked:
			k.options.Apply(ctx)
		}
	}
}

// subscribe returns nothing when it cannot; looks go on.
func (k *Keeper) subscribe(done chan struct{}) chan netlink.AddrUpdate {
	updates := make(chan netlink.AddrUpdate, 64)
	if err := netlink.AddrSubscribe(updates, done); err != nil {
		k.options.Log.Warn("netlink subscription failed", "error", err)
		return nil
	}
	return updates
}

// Look makes the addresses what the plan says by now. It waits for no change: one that is under way looks when it ends.
func (k *Keeper) Look() {
	for {
		k.mutex.Lock()
		plan, revision := k.plan, k.revision
		k.mutex.Unlock()
		addresses, err := k.look(plan)
		if k.take(revision, addresses, err) {
			return
		}
	}
}

// take takes what a look has seen, and says once why it cannot. False where that is of another revision.
func (k *Keeper) take(revision int, addresses []netip.Addr, err error) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	switch {
	case k.changing:
		k.missed = true
		return true
	case k.revision != revision:
		return false
	}
	if err == nil {
		err = k.set(addresses)
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != k.said && said != "" {
		k.options.Log.Error("outbound address update failed", "error", said)
	}
	k.said = said
	return true
}

// set makes the addresses these, as far as there are slots.
func (k *Keeper) set(addresses []netip.Addr) error {
	var tooMany error
	if most := k.plane.MostOutbound(); len(addresses) > most {
		tooMany = fmt.Errorf("%d outbound addresses, and slots for %d: %s are not used; raise outbound.slots and restart",
			len(addresses), most, joined(addresses[most:]))
		addresses = addresses[:most]
	}
	if k.now != nil && slices.Equal(addresses, k.now) && !k.stale {
		return tooMany
	}
	k.revision++
	change, err := k.put(addresses)
	change = union(k.pending, change, addresses)
	if k.stale = err != nil; k.stale {
		k.pending = change
		return err
	}
	k.pending = datapath.OutboundChange{}
	first := k.now == nil
	k.now = append([]netip.Addr{}, addresses...)
	for _, a := range addresses {
		if !slices.Contains(k.plan.Addresses, a) {
			k.past[a] = true
		}
	}
	if len(change.Came)+len(change.Left) > 0 {
		k.options.Log.Info("outbound addresses changed", "came", joined(change.Came), "left", joined(change.Left),
			"sessions_ended", change.Ended, "now", joined(addresses))
		k.options.Events.Emit(event.Outbound{Came: change.Came, Left: change.Left, Ended: change.Ended, Addresses: k.now})
	}
	if len(addresses) == 0 && k.plan.wants() && (first || len(change.Left) > 0) {
		k.options.Log.Warn("no outbound address", "hint", k.plan.missing())
	}
	return tooMany
}

// wants reports whether hosts inside are to reach anybody outside.
func (p Plan) wants() bool { return len(p.Addresses)+len(p.Interfaces) > 0 }

// missing says what is waited for.
func (p Plan) missing() string {
	return fmt.Sprintf("no outbound address: hosts inside reach nobody outside until %s has an IPv4 address", strings.Join(p.Interfaces, " or "))
}

// Doubts says what is wrong with the addresses that a plan has now, with room for so many; 0 is enough of it.
func (p Plan) Doubts(addresses []netip.Addr, slots int) []string {
	switch {
	case len(addresses) == 0 && p.wants():
		return []string{p.missing()}
	case slots > 0 && len(addresses) > slots:
		return []string{fmt.Sprintf("%d outbound addresses, and slots for %d: raise outbound.slots", len(addresses), slots)}
	}
	return nil
}

func joined(addresses []netip.Addr) string {
	list := make([]string, len(addresses))
	for i, a := range addresses {
		list[i] = a.String()
	}
	return strings.Join(list, " ")
}
