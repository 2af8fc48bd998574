package pool

import (
	"net/netip"
	"slices"
)

// restShare is how much of the addresses may rest for what one host's address was before, under other owners: one for so many,
// and one at least. What a host calls itself takes no more from others.
const restShare = 8

// identity is who owns a service: whoever it is whatever its name, where that is known, else whoever has the name.
func (s *Service) identity() string {
	if s.Identity != "" {
		return s.Identity
	}
	return string(s.Owner)
}

// restsOf are the slots that rest, by the host that they led to.
type restsOf map[netip.Addr][]int32

func (rs restsOf) add(host netip.Addr, slot int32) { rs[host] = append(rs[host], slot) }

func (rs restsOf) remove(host netip.Addr, slot int32) {
	left := slices.DeleteFunc(rs[host], func(other int32) bool { return other == slot })
	if rs[host] = left; len(left) == 0 {
		delete(rs, host)
	}
}

// restsEnough reports that as many addresses as may be rest for what a service's host may have been under other names. The
// configuration's hosts choose no names, and a client of a lease is known to be another than that of another lease.
func (bs *bindings) restsEnough(s *Service) bool {
	if bs.services[s.Name] != nil {
		return false
	}
	var places []int32
	for _, slot := range bs.resting[s.Host] {
		r := &bs.table[slot]
		if s.Client && r.Service.Client {
			continue
		}
		if r.Service.identity() != s.identity() && !slices.Contains(places, r.place) {
			places = append(places, r.place)
		}
	}
	return len(places) >= max(1, bs.places.listed/restShare)
}

// supersede has a record that has begun to rest stand for those that rest already in the same place for the same owner, with no
// port that it has not, and no session: one who comes again under other names has no more records than before.
func (bs *bindings) supersede(slot int32) {
	r := &bs.table[slot]
	if r.Service.Identity == "" {
		return
	}
	var old []int32
	for other := bs.places.table[r.place].first; other >= 0; other = bs.table[other].next {
		o := &bs.table[other]
		if other == slot || o.State != Resting || o.Service.Identity != r.Service.Identity || !r.Service.opens(&o.Service) {
			continue
		}
		if bs.refresh(other); o.sessions == 0 {
			old = append(old, other)
		}
	}
	for _, other := range old {
		r.Used = max(r.Used, bs.table[other].Used)
		bs.remove(other)
	}
	if len(old) > 0 {
		bs.rests.set(slot, r.Used.Add(bs.options.Rest))
	}
}

// opens reports that a service has all the ports of another, and they lead to the same ports of the host.
func (s *Service) opens(other *Service) bool {
	for _, port := range other.Ports {
		if to, has := s.to(keyOf(port)); !has || to != port.To {
			return false
		}
	}
	return true
}
