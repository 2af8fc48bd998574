package pact

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/siphash"
)

// places are the proxy addresses: which are free, in the order in which they became so, and which rest, until when and for
// whom. An address in use is in neither. Resting ones may be outside the range, if it was another a while ago.
type places struct {
	prefix  netip.Prefix
	usable  []netip.Addr // rising
	free    *queue       // of places in usable
	resting map[netip.Addr]*rest
	kept    map[Key][]*rest // the same, by key, the latest last
	queue   restQueue       // the same, the first to be over first
	quotas  *quotas
}

// rest is an address that no other key gets before pact.Rests.
type rest struct {
	pact  Pact
	asked bool // counts for its host
	place int  // in restQueue
}

// usableOf lists the addresses of a range, IPv4, that may stand for a name: not the first and the last of it, and none that
// ends in 0 or 255, which some programs take for a network's or for broadcast.
func usableOf(prefix netip.Prefix) (usable []netip.Addr) {
	all := model.RangeOf(prefix)
	for n := all.First + 1; n < all.Last; n++ {
		if last := n & 0xff; last != 0 && last != 0xff {
			usable = append(usable, netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n))))
		}
	}
	return usable
}

func newPlaces(prefix netip.Prefix, q *quotas) *places {
	p := &places{quotas: q, resting: make(map[netip.Addr]*rest), kept: make(map[Key][]*rest)}
	p.cover(prefix, func(netip.Addr) bool { return false })
	return p
}

// cover makes another range the range.
func (p *places) cover(prefix netip.Prefix, inUse func(netip.Addr) bool) {
	p.prefix, p.usable = prefix, usableOf(prefix)
	p.free = newQueue(len(p.usable))
	for i, a := range p.usable {
		if p.resting[a] == nil && !inUse(a) {
			p.free.push(i)
		}
	}
}

// indexOf finds an address in usable.
func (p *places) indexOf(a netip.Addr) (int, bool) {
	return slices.BinarySearchFunc(p.usable, a, netip.Addr.Compare)
}

// preferred is where a key comes first, so that a name tends to return to its address.
func (p *places) preferred(secret *[16]byte, k Key) int {
	text := append(k.Host.AsSlice(), k.Local...)
	text = append(append(text, 0), k.Remote...)
	if k.Shown != 0 {
		text = binary.BigEndian.AppendUint64(append(text, 0), k.Shown)
	}
	return int(siphash.Sum(secret, text) % uint64(len(p.usable)))
}

// take takes a free address for a key, false where none is free.
func (p *places) take(secret *[16]byte, k Key) (netip.Addr, bool) {
	i, found := p.free.first()
	if !found {
		return netip.Addr{}, false
	}
	if at := p.preferred(secret, k); p.free.has(at) {
		i = at
	}
	p.free.remove(i)
	return p.usable[i], true
}

// put makes an address that is in use free, if it is of the range.
func (p *places) put(a netip.Addr) {
	if i, found := p.indexOf(a); found {
		p.free.push(i)
	}
}

// lay lets an address that is in use rest, or makes it free where its rest is over.
func (p *places) lay(now model.Instant, r *rest) {
	if !now.Before(r.pact.Rests) {
		p.put(r.pact.Proxy)
		return
	}
	p.resting[r.pact.Proxy] = r
	p.kept[r.pact.Key] = append(p.kept[r.pact.Key], r)
	heap.Push(&p.queue, r)
	p.quotas.count(r.pact, r.asked, 1)
}

// wake takes a resting address into use.
func (p *places) wake(r *rest) {
	delete(p.resting, r.pact.Proxy)
	if others := slices.DeleteFunc(p.kept[r.pact.Key], func(o *rest) bool { return o == r }); len(others) > 0 {
		p.kept[r.pact.Key] = others
	} else {
		delete(p.kept, r.pact.Key)
	}
	heap.Remove(&p.queue, r.place)
	p.quotas.count(r.pact, r.asked, -1)
}

// advance makes free what has rested.
func (p *places) advance(now model.Instant) {
	for len(p.queue) > 0 && !now.Before(p.queue[0].pact.Rests) {
		r := p.queue[0]
		p.wake(r)
		p.put(r.pact.Proxy)
	}
}

// adopt takes in an address that rested in an earlier Store.
func (p *places) adopt(now model.Instant, ended Pact, inUse bool) error {
	if !ended.Proxy.Is4() || inUse || p.resting[ended.Proxy] != nil {
		return fmt.Errorf("resting address %v %w: it is in use or rests already", ended.Proxy, ErrAdopt)
	}
	if place, found := p.indexOf(ended.Proxy); found {
		p.free.remove(place)
	}
	p.lay(now, &rest{pact: ended, asked: ended.Out})
	return nil
}

// prolong lets what rests do so for as long as is said now, where that is longer.
func (p *places) prolong(span time.Duration) {
	for _, r := range p.resting {
		r.prolong(span)
	}
	heap.Init(&p.queue)
}

func (r *rest) prolong(span time.Duration) { r.pact.Rests = max(r.pact.Rests, r.pact.Used.Add(span)) }

// keptFor finds an address of the range that rests for a key: where other is known, one that stood for that machine,
// else the latest.
func (p *places) keptFor(k Key, other uint64, known bool) *rest {
	for _, r := range slices.Backward(p.kept[k]) {
		if _, found := p.indexOf(r.pact.Proxy); found && (!known || r.pact.Other == other) {
			return r
		}
	}
	return nil
}
