package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// DUT is the device under test (RFC 2544): a device of its model, and what it is to do.
type DUT struct {
	Model
	Device Device
	Setup  Setup

	null bool // the control
}

func (d *DUT) up(ctx context.Context, rig *Rig, setup Setup) error {
	d.Device, d.Setup = d.New(), setup
	if err := d.Device.Up(ctx, rig, setup); err != nil {
		return errors.Join(fmt.Errorf("bring up %s: %w", d.Name, err), d.Device.Down())
	}
	return nil
}

// translation is what the device does to sources and destinations: the null device
// does what no setup says.
func (d *DUT) translation() (pool trafficgen.Addresses, dnat trafficgen.DNAT) {
	if d.null {
		return pool, dnat
	}
	return d.Setup.NAT, d.Setup.DNAT
}

// Translation is what sources are translated to; the zero value is nothing.
func (d *DUT) Translation() trafficgen.Addresses {
	pool, _ := d.translation()
	return pool
}

// SkipsNAT reports whether some of what the device passes may come untranslated though it is
// to translate: netfilter's NAT leaves out what conntrack finds INVALID.
func (d *DUT) SkipsNAT() bool {
	return d.PassesInvalid && d.Translation() != (trafficgen.Addresses{})
}

// skipped is how many packets of TCP sessions offered at a rate came since NAT skipped one:
// those untranslated, and answers to them from another port, as conntrack has the session
// already. faults is what the tester's counters have of it, where each untranslated packet may
// also move its session there and back.
func (d *DUT) skipped(o trafficgen.Outcome) (packets, faults uint64) {
	if !d.SkipsNAT() {
		return 0, 0
	}
	packets = o.Responder.Untranslated + o.Initiator.Misdirected
	return packets, packets + min(o.Responder.Moved, 2*o.Responder.Untranslated)
}

// Remembers reports whether the device has sessions that can be counted, or are taken
// to be there since nobody can look into a box of others.
func (d *DUT) Remembers(ctx context.Context) bool {
	_, err := d.Device.Count(ctx)
	return d.External || !errors.Is(err, ErrUnsupported)
}

// count is -1 for a device that cannot tell.
func (d *DUT) count(ctx context.Context) (int, error) {
	n, err := d.Device.Count(ctx)
	if errors.Is(err, ErrUnsupported) {
		return -1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the sessions of %s: %w", d.Name, err)
	}
	return n, nil
}

// Reset empties the device's tables.
func (d *DUT) Reset(ctx context.Context) error {
	if err := d.Device.Reset(ctx); err != nil {
		return fmt.Errorf("reset %s: %w", d.Name, err)
	}
	return nil
}

// Decided waits until no packet waits for a verdict, and returns what has been
// decided until then.
func (d *DUT) Decided(ctx context.Context, decider Decider) (Decisions, error) {
	ctx, cancel := context.WithTimeout(ctx, decidedWithin)
	defer cancel()
	for {
		now, err := decider.Decisions()
		if err != nil || now.Waiting == 0 {
			return now, err
		}
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("%s: %d packets wait for a verdict: %w", d.Name, now.Waiting, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// decidedWithin is how long a program may take for what waits.
const decidedWithin = 10 * time.Second
