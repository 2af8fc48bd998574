package pool

// attach puts a filled entry on place i and into the indexes of its state.
func (p *Pool) attach(e, i int32) {
	n := &p.entries[e]
	n.live, n.place = true, i
	p.link(e, i)
	if n.quarantined() {
		p.counts.Quarantined++
		p.startRest(e)
		return
	}
	if n.State == Claimed {
		p.counts.Held++
		p.due.set(e, n.FreeAt)
		return
	}
	p.counts.Offered++
	p.halfOpen[n.Host]++
	p.due.set(e, n.Expires)
	if n.Name == "" {
		return
	}
	k := askedKey{n.Name, n.Requester, n.Source}
	if o, ok := p.asked[k]; !ok || p.entries[o].Expires <= n.Expires {
		p.asked[k] = e
	}
}

// link counts the entry in on its place.
func (p *Pool) link(e, i int32) {
	n := &p.entries[e]
	p.places.hold(i, n.Protocol, n.Port, !n.quarantined())
	first := &p.places.table[i].first
	n.prev, n.next = -1, *first
	if *first >= 0 {
		p.entries[*first].prev = e
	}
	*first = e
}

// leaveOffered takes the entry out of the indexes that only offers are in.
func (p *Pool) leaveOffered(e int32) {
	n := &p.entries[e]
	p.counts.Offered--
	if p.halfOpen[n.Host]--; p.halfOpen[n.Host] == 0 {
		delete(p.halfOpen, n.Host)
	}
	if k := (askedKey{n.Name, n.Requester, n.Source}); p.asked[k] == e {
		// A missing key reads as entry 0, and deleting nothing is harmless.
		delete(p.asked, k)
	}
	p.due.remove(e)
}

// startRest begins the quarantine of an entry whose state and FreeAt are set.
func (p *Pool) startRest(e int32) {
	n := &p.entries[e]
	p.quarantine.set(e, n.FreeAt)
	k := restKey{n.Host, keyOf(n.Protocol, n.Port)}
	head, ok := p.resting[k]
	if !ok {
		n.nextRest, n.prevRest = e, e
		p.resting[k] = e
		return
	}
	tail := p.entries[head].prevRest
	n.prevRest, n.nextRest = tail, head
	p.entries[tail].nextRest, p.entries[head].prevRest = e, e
}

func (p *Pool) endRest(e int32) {
	n := &p.entries[e]
	p.quarantine.remove(e)
	k := restKey{n.Host, keyOf(n.Protocol, n.Port)}
	if n.nextRest == e {
		delete(p.resting, k)
		return
	}
	p.entries[n.prevRest].nextRest = n.nextRest
	p.entries[n.nextRest].prevRest = n.prevRest
	if p.resting[k] == e {
		p.resting[k] = n.nextRest
	}
}

// vacate removes an entry that is in no index of its state any more.
func (p *Pool) vacate(e int32) {
	n := &p.entries[e]
	if n.prev >= 0 {
		p.entries[n.prev].next = n.next
	} else {
		p.places.table[n.place].first = n.next
	}
	if n.next >= 0 {
		p.entries[n.next].prev = n.prev
	}
	p.places.drop(n.place, n.Protocol, n.Port, !n.quarantined())
	p.entries[e] = entry{}
	p.vacant = append(p.vacant, e)
}

// lookup finds the entry of a reservation that is in the pool.
func (p *Pool) lookup(id uint64) (int32, bool) {
	e := uint32(id)
	if int64(e) >= int64(len(p.entries)) || !p.entries[e].live || p.entries[e].ID != id {
		return 0, false
	}
	return int32(e), true // below len(p.entries)
}
