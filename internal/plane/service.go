package plane

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/nf"
)

// sweepEvery is how long one sweep of all tables takes at least.
const sweepEvery = time.Second

// Plane is the data plane of an instance. Call New.
type Plane struct {
	Sizes    Sizes              // of its tables
	States   nf.States          // of functions; under the lock of changes
	data     *datapath.Datapath // nil until Open
	instance string
	keep     atomic.Bool // leave it in the kernel at a clean stop
	attached bool        // the start has succeeded
	log      *slog.Logger
}

// New makes a data plane that is not there yet.
func New(instance string, keep bool, log *slog.Logger) *Plane {
	p := &Plane{instance: instance, log: log}
	p.keep.Store(keep)
	return p
}

// Keep has a clean stop leave it in the kernel, whatever New was told.
func (p *Plane) Keep() { p.keep.Store(true) }

// Keeps reports whether a clean stop leaves it in the kernel.
func (p *Plane) Keeps() bool { return p.keep.Load() }

// Immutable are the keys that tables and programs were made for, and whether two configurations have the same.
func Immutable(old, c *config.Config) map[string]bool {
	return map[string]bool{
		"interfaces": slices.Equal(old.Interfaces.Public, c.Interfaces.Public) && slices.Equal(old.Interfaces.Private, c.Interfaces.Private) &&
			slices.Equal(old.Interfaces.XDP, c.Interfaces.XDP) && slices.Equal(old.Interfaces.TCX, c.Interfaces.TCX),
		"interfaces.egress": slices.Equal(old.Interfaces.Stack, c.Interfaces.Stack),
		"capacity":          old.Capacity == c.Capacity,
		"chains":            old.SingleFlows() == c.SingleFlows(), // without any there are no sessions
		"outbound.slots":    old.Outbound.Slots == c.Outbound.Slots,
		"edges.pacts":       old.Edges.Pacts == c.Edges.Pacts,
		"edges.links":       old.Edges.Links == c.Edges.Links,
	}
}

// Open makes the tables for a configuration, or adopts those that an earlier daemon has left.
func (p *Plane) Open(w Wants) (data *datapath.Datapath, err error) {
	if err := w.fit(); err != nil {
		return nil, err
	}
	tables := p.tables(w)
	if p.data, err = datapath.Open(tables); err != nil {
		return nil, err
	}
	p.Sizes = sizesFor(&tables)
	p.Sizes.Slots = p.data.MostOutbound()
	return p.data, nil
}

// Validate says whether the tables can take the next configuration.
func (p *Plane) Validate(old, next Wants) error { return p.Sizes.validate(old, next) }

// Stop closes the data plane. One that was attached stays in the kernel where that is wanted, and one whose start has failed
// where it was there before.
func (p *Plane) Stop() error {
	if p.data == nil {
		return nil
	}
	keep := p.keep.Load()
	if !p.attached {
		keep = p.data.Adopted()
	}
	if err := p.data.Close(keep); err != nil {
		return fmt.Errorf("stop the data plane: %w", err)
	}
	return nil
}

// Attach is the change that attaches the programs at the start.
func (p *Plane) Attach() lifecycle.Change {
	return lifecycle.Change{
		Commit: func() error {
			err := p.data.Attach()
			p.attached = err == nil
			return err
		},
		Settle: p.announce,
	}
}

// Detach ends what the programs do where a stop does not leave it in the kernel: what stands then can be read to the end. Nothing is
// forwarded from then on, until Stop has the host be as it was.
func (p *Plane) Detach() error {
	if p.data == nil || !p.attached || p.Keeps() {
		return nil
	}
	if err := p.data.Detach(); err != nil {
		return fmt.Errorf("detach the data plane: %w", err)
	}
	return nil
}

// announce tells the log what runs, and how much memory it took.
func (p *Plane) announce() {
	usage, err := p.data.Usage()
	if err != nil {
		p.log.Warn("table usage not read", "error", err)
	}
	p.log.Info("data plane ready", "capacity", usage.Capacity, "sessions", usage.Sessions, "adopted", p.data.Adopted(),
		"memory", fmt.Sprintf("%.1f MiB", float64(usage.Bytes)/(1<<20)),
		"bytes_per_session", (usage.Bytes-usage.AddressBytes-usage.FragmentBytes)/max(1, usage.Capacity),
		"for_addresses", fmt.Sprintf("%.1f MiB", float64(usage.AddressBytes)/(1<<20)),
		"for_fragments", fmt.Sprintf("%.1f MiB", float64(usage.FragmentBytes)/(1<<20)))
	for _, i := range p.data.Interfaces() {
		p.log.Info("attached", "interface", i.Name, "side", i.Side, "mode", i.Mode, "why", i.Why, "redirect", i.Redirect)
	}
}

// Run ages the tables, spread over time so that no CPU is held for long.
func (p *Plane) Run(ctx context.Context) error {
	timer := time.NewTicker(sweepEvery)
	defer timer.Stop()
	pause := func() {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if _, err := p.data.Sweep(pause); err != nil && ctx.Err() == nil {
			p.log.Error("sweep failed", "error", err)
		}
	}
}

// Report says how full the tables are, and how packets ended.
func (p *Plane) Report(s *api.Status) error {
	usage, err := p.data.Usage()
	if err != nil {
		return err
	}
	counters, err := p.data.Counters()
	if err != nil {
		return err
	}
	s.ChainBytes = p.data.ChainMemory()
	s.Adopted, s.Slots, s.Bytes, s.Refusals = p.data.Adopted(), p.data.MostOutbound(), usage.Bytes, usage.Refusals
	s.Sessions = api.Gauge{Used: usage.Sessions, Capacity: usage.Capacity}
	s.Mappings.Used = usage.Mappings
	s.Overflowed, s.KnownFull = usage.Overflowed, usage.KnownFull
	s.SubscribersFull, s.RemotesFull = usage.SubscribersFull, usage.RemotesFull
	s.Half.Capacity = usage.Reservations
	for _, i := range p.data.Interfaces() {
		s.Interfaces = append(s.Interfaces, api.Interface{Name: i.Name, Side: i.Side, Mode: string(i.Mode), Why: i.Why, Redirect: i.Redirect})
	}
	for _, reason := range p.data.Reasons() {
		if n := counters[reason]; n > 0 {
			s.Reasons = append(s.Reasons, api.ReasonCount{Reason: reason, Packets: n})
		}
	}
	return nil
}
