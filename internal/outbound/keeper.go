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
	Changing sync.Locker // held while another configuration comes into force
	InForce  func() InForce
	// Events hears of each change, before others can see it.
	Events interface{ Emit(event.Event) }
	// Settle is called after each look, under Changing, for what follows the addresses and may take long.
	Settle func()
	Log    *slog.Logger
}

// Keeper makes the outbound addresses what a plan says, again and again. Call New.
type Keeper struct {
	options Options
	plane   Plane // nil until Open

	mutex  sync.Mutex // held while they change
	plan   Plan
	now    []netip.Addr            // that live
	past   map[netip.Addr]bool     // that interfaces had
	stale  bool                    // the data plane has not taken them
	untold datapath.OutboundChange // what it has done of a change that is not over
	said   string                  // what was wrong last
}

// New makes a keeper without addresses.
func New(o Options) *Keeper { return &Keeper{options: o, past: map[netip.Addr]bool{}} }

// Open is the change that begins with the addresses that a configuration had a moment ago: an adopted data plane may have
// others.
func (k *Keeper) Open(plane Plane, c *config.Config, addresses []netip.Addr) lifecycle.Change {
	k.plane = plane
	return lifecycle.Change{Commit: func() error { return k.follow(PlanOf(c), addresses) }}
}

// Prepare is the change to another configuration, with the addresses that it had a moment ago.
func (k *Keeper) Prepare(c *config.Config, addresses []netip.Addr) lifecycle.Change {
	return lifecycle.Change{Settle: func() {
		if err := k.follow(PlanOf(c), addresses); err != nil {
			k.options.Log.Error("outbound address update failed", "error", err)
		}
	}}
}

func (k *Keeper) follow(plan Plan, addresses []netip.Addr) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.plan = plan
	return k.set(addresses)
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

// Look makes the addresses what the plan says by now, and has the rest follow. It waits for a change under way: the data
// plane may have half of that already, and InForce nothing.
func (k *Keeper) Look() {
	k.options.Changing.Lock()
	defer k.options.Changing.Unlock()
	k.look()
	k.options.Settle()
}

// look says once why it cannot.
func (k *Keeper) look() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	addresses, err := k.plan.Look()
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
	change, err := k.put(addresses)
	change = with(k.untold, change, addresses)
	if k.stale = err != nil; k.stale {
		k.untold = change
		return err
	}
	k.untold = datapath.OutboundChange{}
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
	if len(addresses) == 0 && (first || len(change.Left) > 0) {
		k.options.Log.Warn("no outbound address", "hint", k.plan.missing())
	}
	return tooMany
}

// missing says what is waited for.
func (p Plan) missing() string {
	return fmt.Sprintf("no outbound address: hosts inside reach nobody outside until %s has an IPv4 address", strings.Join(p.Interfaces, " or "))
}

// Doubts says what is wrong with the addresses that a plan has now, with room for so many; 0 is enough of it.
func (p Plan) Doubts(addresses []netip.Addr, slots int) []string {
	switch {
	case len(addresses) == 0:
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
