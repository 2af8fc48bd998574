package pool

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// oracle is the specification in the plainest form: lists that every question walks. It knows nothing of slots, rankings
// or bitsets.
type oracle struct {
	addresses []netip.Addr
	rest      time.Duration
	blocked   func(netip.Addr, model.Protocol, uint16) bool
	bindings  map[uint64]*Binding // Bound and Resting; Used is the truth
	evicted   map[uint64]*Binding // those that gave way
	reserved  map[uint64]uint64   // binding of every standing reservation
	sessions  map[uint64]int
	idle      map[netip.Addr]model.Instant // last use of an address by bindings that have gone
	resting   map[netip.Addr]model.Instant // rests of whole addresses
	last      map[lent]lastUse             // the ledger of I9
}

// lent is a port of an address, lastUse who had it last, and when it used it.
type lent struct {
	address  netip.Addr
	protocol model.Protocol
	port     uint16
}

type lastUse struct {
	owner model.Name
	at    model.Instant
}

func web(p model.Protocol, port uint16) bool {
	return p == model.TCP && (port == 80 || port == 443) || p == model.UDP && port == 443
}

// together reports that two ports of an address have to have one owner.
func together(p1 model.Protocol, d1 uint16, p2 model.Protocol, d2 uint16) bool {
	return p1 == model.AnyProtocol || p2 == model.AnyProtocol || p1 == p2 && d1 == d2 || web(p1, d1) && web(p2, d2)
}

// touch is a use of a binding: its owner's clients may come to any of its ports until the rest is over.
func (o *oracle) touch(now model.Instant, id uint64) {
	b, ok := o.bindings[id]
	if !ok {
		return
	}
	b.Used = max(b.Used, now)
	for _, p := range b.Service.Ports {
		o.last[lent{b.Address, p.Protocol, p.Port}] = lastUse{b.Service.Owner, now}
	}
}

// give is I9: nobody else has used what a service is given within the rest.
func (o *oracle) give(now model.Instant, a netip.Addr, s *Service) error {
	for _, p := range s.Ports {
		for at, was := range o.last {
			if at.address == a && was.owner != s.Owner && was.at.Add(o.rest) > now &&
				together(p.Protocol, p.Port, at.protocol, at.port) {
				return fmt.Errorf("I9: %s of %s is given to %s at %d, but %s used %s/%d at %d", p, a, s.Owner, now,
					was.owner, at.protocol, at.port, was.at)
			}
		}
	}
	return nil
}

// newRest forgets what was over before the rest changed.
func (o *oracle) newRest(now model.Instant, rest time.Duration) {
	for at, was := range o.last {
		if was.at.Add(o.rest) <= now {
			delete(o.last, at)
		}
	}
	o.rest = rest
}

func (o *oracle) over(now model.Instant, b *Binding) bool {
	return b.Used == 0 || b.Used.Add(o.rest) <= now
}

// settle ends the rests that are over.
func (o *oracle) settle(now model.Instant) {
	for id, b := range o.bindings {
		if b.State == Resting && o.over(now, b) && o.sessions[id] == 0 {
			o.gone(id)
		}
	}
	for a, until := range o.resting {
		if until <= now {
			delete(o.resting, a)
		}
	}
}

func (o *oracle) gone(id uint64) {
	b := o.bindings[id]
	o.idle[b.Address] = max(o.idle[b.Address], b.Used)
	o.evicted[id] = b
	delete(o.bindings, id)
}

// withdraw makes a binding rest, or forgets one that nobody was told of.
func (o *oracle) withdraw(id uint64) {
	if b := o.bindings[id]; b.Used == 0 {
		o.gone(id)
	} else {
		b.State = Resting
	}
}

// clashing are the bindings on an address that a service cannot share it with.
func (o *oracle) clashing(a netip.Addr, s *Service) (list []*Binding) {
	for _, b := range o.bindings {
		if b.Address == a && slices.ContainsFunc(b.Service.Ports, func(had model.Port) bool { return o.clash(b, had, s) }) {
			list = append(list, b)
		}
	}
	return list
}

func (o *oracle) clash(b *Binding, had model.Port, s *Service) bool {
	for _, p := range s.Ports {
		same := p.Overlaps(had)
		switch {
		case b.Service.Owner != s.Owner:
			if together(p.Protocol, p.Port, had.Protocol, had.Port) {
				return true
			}
		case same && b.State == Bound:
			return true
		case p.Key() == had.Key() && p.To != had.To && b.Service.Name != s.Name:
			return true
		}
	}
	return false
}

func (o *oracle) open(a netip.Addr, s *Service) bool {
	_, rests := o.resting[a]
	return !rests && !o.coalesces(a, s) && !slices.ContainsFunc(s.Ports, func(p model.Port) bool { return o.blocked(a, p.Protocol, p.Port) })
}

// coalesces reports that a browser could take a session of a binding that gave way for one with the service.
func (o *oracle) coalesces(a netip.Addr, s *Service) bool {
	opensWeb := func(s *Service) bool {
		return slices.ContainsFunc(s.Ports, func(p model.Port) bool { return p.Protocol == model.AnyProtocol || web(p.Protocol, p.Port) })
	}
	for id, b := range o.evicted {
		if b.Address == a && o.sessions[id] > 0 && b.Service.Owner != s.Owner && sharesZone(b.Service.Zones, s.Zones) &&
			opensWeb(&b.Service) && opensWeb(s) {
			return true
		}
	}
	return false
}

// choices are the addresses of which one must be taken, and the step of the order at which they come; 0 is none.
func (o *oracle) choices(now model.Instant, s *Service) (step int, list []netip.Addr) {
	var by [7][]netip.Addr
	best := map[int]model.Instant{}
	longest := func(step int, a netip.Addr, used model.Instant) {
		if b, ok := best[step]; !ok || used < b {
			by[step], best[step] = nil, used
		}
		if used == best[step] {
			by[step] = append(by[step], a)
		}
	}
	for _, a := range o.addresses {
		if !o.open(a, s) {
			continue
		}
		ours, empty := false, true
		for _, b := range o.bindings {
			if b.Address == a {
				empty, ours = false, ours || b.Service.Owner == s.Owner
			}
		}
		clashing := o.clashing(a, s)
		used, gentle, moves := model.Instant(0), true, true
		for _, b := range clashing {
			used = max(used, b.Used)
			standing := false
			for _, id := range o.reserved {
				standing = standing || id == b.ID
			}
			if !o.over(now, b) || standing {
				moves = false
			}
			if o.sessions[b.ID] > 0 {
				gentle = false
				if slices.ContainsFunc(b.Service.Ports, func(p model.Port) bool {
					return p.Protocol != model.TCP || sharesZone(b.Service.Zones, s.Zones) && web(p.Protocol, p.Port)
				}) {
					moves = false
				}
			}
		}
		switch {
		case empty && o.idle[a] == 0:
			by[2] = append(by[2], a)
		case empty:
			longest(3, a, o.idle[a])
		case len(clashing) == 0 && ours:
			by[1] = append(by[1], a)
		case len(clashing) == 0:
			by[4] = append(by[4], a)
		case moves && gentle:
			longest(5, a, used)
		case moves:
			longest(6, a, used)
		}
	}
	for step := 1; step < len(by); step++ {
		if len(by[step]) > 0 {
			return step, by[step]
		}
	}
	return 0, nil
}

// check asks of every port who may get its packets: at most one binding (I1, I2), and nobody where another rests.
func (o *oracle) check() error {
	for id1, b1 := range o.bindings {
		for id2, b2 := range o.bindings {
			if id1 >= id2 || b1.Address != b2.Address || b1.State == Resting && b2.State == Resting {
				continue
			}
			for _, p1 := range b1.Service.Ports {
				for _, p2 := range b2.Service.Ports {
					bothBound := b1.State == Bound && b2.State == Bound && p1.Overlaps(p2)
					if bothBound || b1.Service.Owner != b2.Service.Owner && together(p1.Protocol, p1.Port, p2.Protocol, p2.Port) {
						return fmt.Errorf("%s is %s's and %s's: %+v and %+v", b1.Address, p1, p2, *b1, *b2)
					}
				}
			}
		}
	}
	return nil
}
