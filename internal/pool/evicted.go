package pool

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// evicted is a web binding that gave way with sessions standing: a browser takes those for every name that their
// certificate covers, whoever has the place since.
type evicted struct {
	id      uint64
	address netip.Addr
	owner   string
	zones   []model.Name
	heard   uint64 // the round in which sessions of it stood
}

// evictions are by slot, at most one each: a slot is not used again while sessions of its last binding stand. They are
// found by address, not by place: one that leaves the pool and comes back has them still.
type evictions struct {
	slots map[uint32]*evicted
	at    map[netip.Addr][]*evicted
}

func (es *evictions) add(e *evicted) {
	es.forget(uint32(e.id))
	es.slots[uint32(e.id)] = e
	es.at[e.address] = append(es.at[e.address], e)
}

func (es *evictions) forget(slot uint32) {
	e, ok := es.slots[slot]
	if !ok {
		return
	}
	delete(es.slots, slot)
	left := slices.DeleteFunc(es.at[e.address], func(o *evicted) bool { return o == e })
	if es.at[e.address] = left; len(left) == 0 {
		delete(es.at, e.address)
	}
}

// AdoptEvicted takes over a binding of an earlier process that gave way with sessions standing.
func (p *Pool) AdoptEvicted(id uint64, address netip.Addr, s Service) {
	if int64(uint32(id)) < int64(p.options.Bindings) && s.web() {
		p.evicted.add(&evicted{id: id, address: address, owner: s.identity(), zones: s.Zones})
	}
}

// coalesces reports that a browser could reach a former owner of the place by one of the service's names: the service is
// web, shares a zone with a web binding that gave way there, and sessions of that stand. It forgets those that have ended.
func (f *finder) coalesces(i int32, s *Service) bool {
	there := f.evicted.at[f.places.table[i].address]
	if len(there) == 0 || f.options.Use == nil || !s.web() && !s.All() {
		return false
	}
	for _, e := range slices.Clone(there) {
		if e.owner == s.identity() || !sharesZone(e.zones, s.Zones) {
			continue
		}
		if e.heard != f.round {
			if _, sessions := f.options.Use(e.id); sessions == 0 {
				f.evicted.forget(uint32(e.id))
				continue
			}
			e.heard = f.round
		}
		return true
	}
	return false
}

func sharesZone(a, b []model.Name) bool {
	return slices.ContainsFunc(a, func(zone model.Name) bool { return slices.Contains(b, zone) })
}
