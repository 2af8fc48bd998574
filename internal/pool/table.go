package pool

import "github.com/realmgate/realmgate/internal/model"

// vacantLimit bounds the slots looked at for one that no session keeps.
const vacantLimit = 64

// record is a binding in the table, and its links.
type record struct {
	Binding
	live       bool
	web        bool
	class      class
	place      int32
	next, prev int32 // bindings of the same place
	offered    int   // standing reservations
	sessions   int   // what the data plane told in the round heard
	heard      uint64
	marked     uint64 // the search for clashes that found it
}

// slot returns one that holds nothing and of which no session stands, or -1.
func (p *Pool) slot() int32 {
	for range min(len(p.spare), vacantLimit) {
		s := p.spare[0]
		p.spare = p.spare[1:]
		switch {
		case p.table[s].live: // adoption took it meanwhile
		case p.vacant(s):
			return s
		default:
			p.spare = append(p.spare, s)
		}
	}
	for range vacantLimit {
		if len(p.table) >= p.options.Bindings {
			return -1
		}
		s := int32(len(p.table)) // bounded by MaxBindings
		p.table = append(p.table, record{})
		if p.vacant(s) {
			return s
		}
		p.spare = append(p.spare, s)
	}
	return -1
}

func (p *Pool) vacant(slot int32) bool {
	return p.options.Vacant == nil || p.options.Vacant(uint32(slot))
}

// install binds a service at a place on which nothing clashes.
func (p *Pool) install(slot, i int32, s *Service) Binding {
	return p.put(slot, i, Binding{ID: p.newID(slot), Address: p.places.table[i].address, Service: *s, State: Bound})
}

func (p *Pool) newID(slot int32) uint64 {
	p.number = max(1, p.number+1)
	return uint64(p.number)<<32 | uint64(uint32(slot)) // slot >= 0
}

// put fills a slot with a binding, Bound or Resting.
func (p *Pool) put(slot, i int32, b Binding) Binding {
	p.table[slot] = record{Binding: b, live: true, place: i}
	p.link(slot)
	p.rank(slot)
	if b.State == Bound {
		p.bound[b.Service.Name] = slot
	} else {
		p.startRest(slot)
	}
	return b
}

// link writes a live record into the indexes of its place.
func (p *Pool) link(slot int32) {
	r, ps := &p.table[slot], p.places
	ps.leave(r.place)
	pl := &ps.table[r.place]
	r.prev, r.next = -1, pl.first
	if pl.first >= 0 {
		p.table[pl.first].prev = slot
	}
	pl.first = slot
	pl.count++
	if r.State == Bound {
		pl.bound++
	}
	ps.hold(r.place, slot, &r.Binding)
	ps.own(r.Service.Owner, r.place, 1)
	ps.enter(r.place)
	r.web = r.Service.web()
}

// unlink undoes link.
func (p *Pool) unlink(slot int32) {
	r, ps := &p.table[slot], p.places
	ps.leave(r.place)
	pl := &ps.table[r.place]
	if r.prev >= 0 {
		p.table[r.prev].next = r.next
	} else {
		pl.first = r.next
	}
	if r.next >= 0 {
		p.table[r.next].prev = r.prev
	}
	pl.count--
	if r.State == Bound {
		pl.bound--
	}
	ps.release(r.place, slot, &r.Binding)
	ps.own(r.Service.Owner, r.place, -1)
	pl.used = max(pl.used, r.Used)
	ps.enter(r.place)
}

// remove takes a record out of the pool and returns what it was, as Gone.
func (p *Pool) remove(slot int32) Binding {
	r := &p.table[slot]
	p.unlink(slot)
	p.unrank(slot)
	if r.State == Bound {
		delete(p.bound, r.Service.Name)
	} else {
		p.counts.Rests--
		p.rests.remove(slot)
	}
	b := r.Binding
	b.State = Gone
	*r = record{}
	p.spare = append(p.spare, slot)
	return b
}

// withdraw ends a Bound record: it rests, unless nobody was told of it.
func (p *Pool) withdraw(slot int32) Binding {
	r := &p.table[slot]
	p.counts.Withdrawn++
	p.hear(slot)
	if r.Used == 0 {
		return p.remove(slot)
	}
	p.unlink(slot)
	delete(p.bound, r.Service.Name)
	r.State = Resting
	p.link(slot)
	p.startRest(slot)
	return r.Binding
}

func (p *Pool) startRest(slot int32) {
	p.counts.Rests++
	p.rests.set(slot, p.table[slot].Used.Add(p.options.Rest))
}

// lookup finds a binding by its ID.
func (p *Pool) lookup(id uint64) (int32, bool) {
	slot := uint32(id)
	if int64(slot) >= int64(len(p.table)) || !p.table[slot].live || p.table[slot].ID != id {
		return 0, false
	}
	return int32(slot), true // below len(p.table)
}

// over reports that a rest that began at used is over; never used, nothing rests.
func (p *Pool) over(now, used model.Instant) bool {
	return used == 0 || used.Add(p.options.Rest) <= now
}
