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
	active     int   // standing reservations
	sessions   int   // what the data plane told in the round heard
	heard      uint64
	marked     uint64 // the search for clashes that found it
}

// bindings is the table of bindings, which reservations, searches and changes of services have in common.
type bindings struct {
	options Options
	places  *places
	counts  counters

	services map[model.Name]*Service // of SetServices; nil until then

	table   []record
	spare   []int32 // slots that hold nothing, though sessions may stand, and some that adoption took
	number  uint32
	bound   map[model.Name]int32
	rests   timers // Resting records, by the earliest end of their rest
	resting restsOf
	calm    ranking // all records
	busy    ranking // those that had sessions when they were last heard of
	round   uint64  // of asking the data plane
}

// slot returns one that holds nothing and of which no session stands, or -1.
func (bs *bindings) slot() int32 {
	for range min(len(bs.spare), vacantLimit) {
		s := bs.spare[0]
		bs.spare = bs.spare[1:]
		switch {
		case bs.table[s].live: // adoption took it meanwhile
		case bs.vacant(s):
			return s
		default:
			bs.spare = append(bs.spare, s)
		}
	}
	for range vacantLimit {
		if len(bs.table) >= bs.options.Bindings {
			return -1
		}
		s := int32(len(bs.table)) // bounded by MaxBindings
		bs.table = append(bs.table, record{})
		if bs.vacant(s) {
			return s
		}
		bs.spare = append(bs.spare, s)
	}
	return -1
}

func (bs *bindings) vacant(slot int32) bool {
	return bs.options.Vacant == nil || bs.options.Vacant(uint32(slot))
}

// install binds a service at a place on which nothing clashes.
func (bs *bindings) install(slot, i int32, s *Service) Binding {
	return bs.put(slot, i, Binding{ID: bs.newID(slot), Address: bs.places.table[i].address, Service: *s, State: Bound})
}

func (bs *bindings) newID(slot int32) uint64 {
	bs.number = max(1, bs.number+1)
	return uint64(bs.number)<<32 | uint64(uint32(slot)) // slot >= 0
}

// put fills a slot with a binding, Bound or Resting.
func (bs *bindings) put(slot, i int32, b Binding) Binding {
	bs.table[slot] = record{Binding: b, live: true, place: i}
	bs.link(slot)
	bs.rank(slot)
	if b.State == Bound {
		bs.bound[b.Service.Name] = slot
		bs.counts.bindings.Store(int64(len(bs.bound)))
	} else {
		bs.startRest(slot)
	}
	return b
}

// link writes a live record into the indexes of its place.
func (bs *bindings) link(slot int32) {
	r, ps := &bs.table[slot], bs.places
	ps.leave(r.place)
	pl := &ps.table[r.place]
	r.prev, r.next = -1, pl.first
	if pl.first >= 0 {
		bs.table[pl.first].prev = slot
	}
	pl.first = slot
	pl.count++
	if r.State == Bound {
		pl.bound++
	}
	ps.hold(r.place, slot, &r.Binding)
	ps.own(r.Service.identity(), r.place, 1)
	ps.enter(r.place)
	r.web = r.Service.web()
}

// unlink undoes link.
func (bs *bindings) unlink(slot int32) {
	r, ps := &bs.table[slot], bs.places
	ps.leave(r.place)
	pl := &ps.table[r.place]
	if r.prev >= 0 {
		bs.table[r.prev].next = r.next
	} else {
		pl.first = r.next
	}
	if r.next >= 0 {
		bs.table[r.next].prev = r.prev
	}
	pl.count--
	if r.State == Bound {
		pl.bound--
	}
	ps.release(r.place, slot, &r.Binding)
	ps.own(r.Service.identity(), r.place, -1)
	pl.used = max(pl.used, r.Used)
	ps.enter(r.place)
}

// remove takes a record out of the pool and returns what it was, as Gone.
func (bs *bindings) remove(slot int32) Binding {
	r := &bs.table[slot]
	bs.unlink(slot)
	bs.unrank(slot)
	if r.State == Bound {
		bs.unbind(r.Service.Name)
	} else {
		bs.counts.rests.Add(-1)
		bs.rests.remove(slot)
		bs.resting.remove(r.Service.Host, slot)
	}
	b := r.Binding
	b.State = Gone
	*r = record{}
	bs.spare = append(bs.spare, slot)
	return b
}

// withdraw ends a Bound record: it rests, unless nobody was told of it.
func (bs *bindings) withdraw(slot int32) Binding {
	r := &bs.table[slot]
	bs.counts.withdrawn.Add(1)
	bs.refresh(slot)
	if r.Used == 0 {
		return bs.remove(slot)
	}
	bs.unlink(slot)
	bs.unbind(r.Service.Name)
	r.State = Resting
	bs.link(slot)
	bs.startRest(slot)
	bs.supersede(slot)
	return r.Binding
}

// unbind has a service be bound no more.
func (bs *bindings) unbind(service model.Name) {
	delete(bs.bound, service)
	bs.counts.bindings.Store(int64(len(bs.bound)))
}

func (bs *bindings) startRest(slot int32) {
	bs.counts.rests.Add(1)
	bs.resting.add(bs.table[slot].Service.Host, slot)
	bs.rests.set(slot, bs.table[slot].Used.Add(bs.options.Rest))
}

// lookup finds a binding by its ID.
func (bs *bindings) lookup(id uint64) (int32, bool) {
	slot := uint32(id)
	if int64(slot) >= int64(len(bs.table)) || !bs.table[slot].live || bs.table[slot].ID != id {
		return 0, false
	}
	return int32(slot), true // below len(bs.table)
}

// over reports that a rest that began at used is over; never used, nothing rests.
func (bs *bindings) over(now, used model.Instant) bool {
	return used == 0 || used.Add(bs.options.Rest) <= now
}
