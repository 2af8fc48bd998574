package pool

import (
	"math/bits"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// key is a (protocol, port) pair as model.Port.Key makes it; 0 is everything.
type key uint32

// webKey stands for the web ports together; no pair has its number.
const webKey key = 1<<32 - 1

// webKeys are the ports of an address that belong to one owner together: a browser goes from one to the other by itself
// (redirect, upgrade, Alt-Svc).
var webKeys = [...]key{
	keyOf(model.Port{Protocol: model.TCP, Port: 80}), keyOf(model.Port{Protocol: model.TCP, Port: 443}),
	keyOf(model.Port{Protocol: model.UDP, Port: 443}),
}

func keyOf(p model.Port) key { return key(p.Key()) }

func (k key) web() bool { return slices.Contains(webKeys[:], k) }

// web reports that the service has some web port.
func (s *Service) web() bool {
	return slices.ContainsFunc(s.Ports, func(p model.Port) bool { return keyOf(p).web() })
}

// to returns where a port of the service goes.
func (s *Service) to(k key) (uint16, bool) {
	n, ok := slices.BinarySearchFunc(s.Ports, k, func(p model.Port, k key) int { return int(keyOf(p)) - int(k) })
	if !ok {
		return 0, false
	}
	return s.Ports[n].To, true
}

// portAt is a port of a place.
type portAt struct {
	place int32
	key   key
}

// holder says who has a port: at most one bound slot, -1 for none, and the slots that rest, nearly always none or one.
type holder struct {
	bound   int32
	resting []int32
}

// hold writes a binding into the ports of its place, as what its state says.
func (ps *places) hold(i, slot int32, b *Binding) {
	for _, p := range b.Service.Ports {
		at := portAt{i, keyOf(p)}
		h, held := ps.ports[at]
		if !held {
			h.bound = -1
			ps.spread(at, true)
		}
		if b.State == Bound {
			h.bound = slot
		} else {
			h.resting = append(h.resting, slot)
		}
		ps.ports[at] = h
	}
}

// release undoes hold.
func (ps *places) release(i, slot int32, b *Binding) {
	for _, p := range b.Service.Ports {
		at := portAt{i, keyOf(p)}
		h := ps.ports[at]
		if b.State == Bound {
			h.bound = -1
		} else {
			n := slices.Index(h.resting, slot)
			h.resting = slices.Delete(h.resting, n, n+1)
		}
		if h.bound >= 0 || len(h.resting) > 0 {
			ps.ports[at] = h
			continue
		}
		delete(ps.ports, at)
		ps.spread(at, false)
	}
}

// spread notes on which listed places a key is held; the web ports count together, too. The port itself is not in the
// map yet, or no longer.
func (ps *places) spread(at portAt, held bool) {
	if ps.table[at.place].retired {
		return
	}
	ps.note(at.key, at.place, held)
	if at.key.web() && !ps.webHeld(at.place) {
		ps.note(webKey, at.place, held)
	}
}

func (ps *places) webHeld(i int32) bool {
	for _, k := range webKeys {
		if _, held := ps.ports[portAt{i, k}]; held {
			return true
		}
	}
	return false
}

func (ps *places) note(k key, i int32, held bool) {
	on := ps.keys[k]
	switch {
	case on == nil:
		ps.keys[k] = &keyPlaces{few: []int32{i}, size: 1}
	case held:
		on.add(i)
	case on.size == 1:
		delete(ps.keys, k)
	default:
		on.remove(i)
	}
}

// keyPlaces are the places on which a key is held: a list while they are few, so that a thousand rare ports take no
// bitset each, and a bitset when they are many.
type keyPlaces struct {
	few  []int32
	many bitset
	size int
}

// fewPlaces is how long a list may be.
const fewPlaces = 64

func (k *keyPlaces) add(i int32) {
	k.size++
	if k.many == nil && k.size <= fewPlaces {
		k.few = append(k.few, i)
		return
	}
	for _, f := range k.few {
		k.many.add(f)
	}
	k.few = nil
	k.many.add(i)
}

func (k *keyPlaces) remove(i int32) {
	k.size--
	if k.many == nil {
		n := slices.Index(k.few, i)
		k.few = slices.Delete(k.few, n, n+1)
		return
	}
	k.many.remove(i)
	if k.size > fewPlaces/4 { // not at once, so that one port to and fro does not copy the list each time
		return
	}
	for w, word := range k.many {
		for ; word != 0; word &= word - 1 {
			k.few = append(k.few, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	k.many = nil
}
