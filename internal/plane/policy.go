package plane

import (
	"errors"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Policy is what one generation of the data plane is made of.
type Policy struct {
	Wants
	Build datapath.BuildChains // compiles what judges flows; nil where there is nothing
	// Lately are ports of outbound addresses that stay closed to mappings though no service has them any more. It is asked
	// just before the switch.
	Lately func() []datapath.Service
	// Switched hears the number of the generation: after a commit, and after a rollback to it.
	Switched func(generation uint32)
}

func (p Policy) open() []datapath.Service { return slices.Concat(p.Open, p.Lately()) }

// Prepare compiles the next generation. Its commit is the one switch by which packets are judged by all of it. before is
// that in force, nil at the start.
func (p *Plane) Prepare(next Policy, before *Policy) (lifecycle.Change, error) {
	chains, err := p.data.MakeChains(next.Build)
	if err != nil {
		p.States.Forget()
		return lifecycle.Change{}, err
	}
	return lifecycle.Change{
		Commit:   func() error { return p.change(next, before, chains) },
		Rollback: func() error { return p.restore(before) },
		Settle: func() {
			p.States.Keep()
			chains.Close()
		},
		Discard: func() {
			p.States.Forget()
			chains.Close()
		},
	}, nil
}

// change puts addresses and policy into force. A refused one leaves no trace but, where the data plane had it
// already, the number of a generation.
func (p *Plane) change(next Policy, before *Policy, chains *datapath.NextChains) error {
	var generation uint32
	err := p.setAddresses(next.Wants)
	if err == nil {
		generation, err = p.data.SetPolicy(next.settings(), next.open(), chains)
	}
	switch {
	case err == nil:
		next.Switched(generation)
		return nil
	case before == nil:
		return err
	case generation == 0:
		return errors.Join(err, p.setAddresses(before.Wants))
	}
	return errors.Join(err, p.restore(before))
}

func (p *Plane) setAddresses(w Wants) error {
	return errors.Join(
		p.data.SetAddresses(w.Config.Pool.Addresses, w.Dnat, w.Config.Hosts.OneToOneAddresses()...),
		p.data.SetWebAddresses(w.Config.Web.Addresses),
	)
}

// restore puts the data plane, which has switched, back to the policy in force; at the start there is none.
func (p *Plane) restore(before *Policy) error {
	if before == nil {
		return nil
	}
	p.States.Forget()
	poolErr := p.setAddresses(before.Wants)
	chains, err := p.data.MakeChains(before.Build)
	if err != nil {
		return errors.Join(poolErr, err)
	}
	defer chains.Close()
	generation, err := p.data.SetPolicy(before.settings(), before.open(), chains)
	if generation > 0 {
		p.States.Keep()
		before.Switched(generation)
	}
	return errors.Join(poolErr, err)
}

// BeginCounts is the change that counts anew for functions that are new, or have another number. It follows that of Prepare.
func (p *Plane) BeginCounts(before, now map[string]uint32) lifecycle.Change {
	return lifecycle.Change{Commit: func() error {
		for name, number := range now {
			if was, known := before[name]; known && was == number {
				continue
			}
			if err := p.data.ClearCount(number); err != nil {
				return err
			}
		}
		return nil
	}}
}
