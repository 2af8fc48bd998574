package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/bench/webload"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Bed is a device at work in its rig, with a tester: a part for each concern.
type Bed struct {
	DUT      *DUT      // what is measured
	Rig      *Rig      // where it stands
	Tester   *Tester   // what sends and receives
	Sessions *Sessions // what opens sessions and counts them
	Search   *Search   // what looks for a rate
	Gates    *Gates    // what must hold in a trial

	server *webload.Server // of Setup.Web
}

// newBed joins the parts of a bed, of which nothing is up. Without traffic it needs no rig.
func newBed(b *Bench, m Model, rig *Rig) *Bed {
	dut := &DUT{Model: m, null: m.Name == b.Null.Name}
	gates := &Gates{}
	tester := &Tester{dut: dut, rig: rig, gates: gates, bench: b}
	return &Bed{
		DUT: dut, Rig: rig, Tester: tester, Gates: gates,
		Sessions: &Sessions{dut: dut, tester: tester, gates: gates, bench: b},
		Search:   &Search{dut: dut, tester: tester, gates: gates, bench: b, found: map[string]float64{}},
	}
}

// bed lays a rig and brings a device up in it.
func (b *Bench) bed(ctx context.Context, m Model, setup Setup, flows trafficgen.Flows) (*Bed, error) {
	if b.Mode == Paced {
		if err := b.Host.letRealTimeRun(); err != nil {
			return nil, err
		}
	}
	b.beds++
	if m.External {
		flows, setup.NAT = externalFlows(flows.Count()), trafficgen.Addresses{}
	}
	rig, err := b.rig(ctx, m, setup.Web.links())
	if err != nil {
		return nil, err
	}
	if setup.Inbound {
		rig.Turn()
	}
	bed := newBed(b, m, rig)
	bed.Tester.Flows = flows
	if setup.Web.Hosts > 0 {
		return bed, bed.serve(ctx, setup)
	}
	if err = bed.DUT.up(ctx, rig, setup); err != nil {
		return nil, err
	}
	if bed.Tester.Generator, err = trafficgen.Load(flows.Count()); err == nil {
		err = rig.Attach(bed.Tester.Generator)
	}
	if err == nil && m.External {
		err = bed.Tester.learn(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, bed.down())
	}
	return bed, nil
}

// rig lays the rig of the newest bed.
func (b *Bench) rig(ctx context.Context, m Model, links []netns.VethOption) (r *Rig, err error) {
	if m.External {
		r, err = b.External.lay(ctx, b.Host)
	} else {
		r, err = NewRig(b.lab, fmt.Sprintf("%s-%d", m.Name, b.beds), links...)
	}
	if err != nil {
		return nil, err
	}
	r.Host, r.Directory, r.Executable, r.CPU = b.Host, b.directory, b.Executable, b.CPU
	r.Instance = strings.TrimPrefix(b.lab.ID(), "rg-") + fmt.Sprintf("-%d", b.beds)
	return r, nil
}

func (b *Bed) down() error {
	err := b.DUT.Device.Down()
	if b.server != nil {
		err = errors.Join(err, b.server.Close())
	}
	if b.Tester.Generator != nil {
		err = errors.Join(err, b.Tester.Generator.Close())
	}
	if err != nil {
		return fmt.Errorf("take down %s: %w", b.DUT.Name, err)
	}
	return nil
}
