package pool

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// SetServices tells what names stand for now, instead of what was told before. Bindings of services that are gone, whose
// owner or host changed, or whose ports or zones no longer fit where they are, are withdrawn: take them out of the data plane
// first. Of the others, those with other ports are changed: give the data plane their ports in the order returned; a
// binding may be in it twice, first without what it loses. What a binding no longer opens rests. Invalid services are left
// out.
func (p *Pool) SetServices(now model.Instant, services []Service) (withdrawn, changed []Binding) {
	p.round++
	p.services, p.order = make(map[model.Name]*Service, len(services)), p.order[:0]
	for _, s := range services {
		n := s.normal()
		if _, twice := p.services[n.Name]; twice || !n.valid() {
			continue
		}
		p.services[n.Name] = &n
		p.order = append(p.order, &n)
	}
	p.counts.services.Store(int64(len(p.services) + p.registered))
	standing := p.standing()
	for slot := range p.table {
		r := &p.table[slot]
		switch {
		case !r.live || r.State != Bound:
		case goesOn(p, r, standing[r.Service.Name]):
			r.Service.Zones = withZones(r.Service.Zones, standing[r.Service.Name].Zones)
		default:
			withdrawn = append(withdrawn, p.withdraw(int32(slot))) // bounded by MaxBindings
		}
	}
	// What somebody loses may be gained by another, so nothing grows before everything has shrunk.
	for slot := range p.table {
		s := standing[p.table[slot].Service.Name]
		if !p.differs(slot, s) {
			continue
		}
		if b, lost, ok := p.shrink(now, int32(slot), s); !ok {
			withdrawn = append(withdrawn, b)
		} else if lost {
			changed = append(changed, b)
		}
	}
	for slot := range p.table {
		s := standing[p.table[slot].Service.Name]
		if !p.differs(slot, s) {
			continue
		}
		if b, ok := p.grow(int32(slot), s); ok {
			changed = append(changed, b)
		} else {
			withdrawn = append(withdrawn, b)
		}
	}
	changed = slices.DeleteFunc(changed, func(b Binding) bool {
		slot, ok := p.lookup(b.ID)
		return !ok || p.table[slot].State != Bound
	})
	return withdrawn, changed
}

// standing are the services of now that are bound, by name. Each is asked for once, as those of Options.Registered may come and
// go meanwhile: Registered tells of them later.
func (bs *bindings) standing() map[model.Name]*Service {
	list := make(map[model.Name]*Service, len(bs.bound))
	for name := range bs.bound {
		if s := bs.service(name); s != nil {
			list[name] = s
		}
	}
	return list
}

// goesOn reports that a binding is good for what its name stands for now; nil: for nothing.
func goesOn(p *Pool, r *record, now *Service) bool {
	return now != nil && r.Service.sameHost(now) && !p.coalesces(r.place, now)
}

// withZones adds zones to those that a binding has had: its sessions may be of any of them.
func withZones(had, more []model.Name) []model.Name {
	all := slices.Concat(had, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// differs reports a bound record whose ports are not its service's.
func (p *Pool) differs(slot int, s *Service) bool {
	r := &p.table[slot]
	return r.live && r.State == Bound && !slices.Equal(r.Service.Ports, s.Ports)
}

// shrink takes from a bound record the ports that its service has no more; a record of their own keeps them resting, from
// now on, as their sessions end now. The record is withdrawn, and ok false, if nothing would be left of it, or if there is
// no slot for the rest.
func (p *Pool) shrink(now model.Instant, slot int32, s *Service) (b Binding, lost, ok bool) {
	var kept, gone []model.Port
	for _, port := range p.table[slot].Service.Ports {
		if _, still := s.to(keyOf(port)); still {
			kept = append(kept, port)
		} else {
			gone = append(gone, port)
		}
	}
	if len(gone) == 0 {
		return Binding{}, false, true
	}
	if len(kept) == 0 {
		return p.withdraw(slot), false, false
	}
	p.refresh(slot)
	if p.table[slot].Used != 0 {
		rest := p.slot()
		if rest < 0 {
			return p.withdraw(slot), false, false
		}
		left := p.table[slot].Binding
		left.ID, left.Service.Ports, left.Used, left.State = p.newID(rest), gone, now, Resting
		p.put(rest, p.table[slot].place, left)
	}
	p.reopen(slot, kept)
	return p.table[slot].Binding, true, true
}

// grow gives a bound record its service's ports, or withdraws it if they do not fit.
func (p *Pool) grow(slot int32, s *Service) (Binding, bool) {
	r := &p.table[slot]
	if !p.open(r.place, s) || len(p.clashes(r.place, s, slot, true)) > 0 {
		return p.withdraw(slot), false
	}
	p.reopen(slot, s.Ports)
	return r.Binding, true
}

// reopen gives a record other ports.
func (bs *bindings) reopen(slot int32, ports []model.Port) {
	bs.unlink(slot)
	bs.unrank(slot)
	bs.table[slot].Service.Ports = ports
	bs.link(slot)
	bs.rank(slot)
}
