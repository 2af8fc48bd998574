package dataplane

import (
	"maps"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
)

// subscribers compares what hosts inside count with their sessions and mappings.
func (a *audit) subscribers() error {
	var zero datapath.Subscriber
	wanted := map[netip.Addr]datapath.Subscriber{}
	change := func(address uint32, count func(*datapath.Subscriber)) {
		s := wanted[addressOf(address)]
		count(&s)
		wanted[addressOf(address)] = s
	}
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		if typesPhase(s.Life.As.Phase) == typesPhasePHASE_LIVE && isOutbound(s) && s.Marks.As.Flags&sessionCounted != 0 {
			change(s.PrivateAddress, func(of *datapath.Subscriber) { of.Sessions++ })
		}
	})
	if err != nil {
		return err
	}
	err = datapath.ForAll(a.t.of["mapping_table"], func(number uint32, block *typesMappingBlock) {
		for _, word := range block.Endpoint {
			if e := endpointOf(word); typesPhase(e.Phase) != typesPhasePHASE_FREE && e.Counted != 0 {
				change(e.Address, func(of *datapath.Subscriber) { *portsOf(of, number*mappingBlock/ports%protocols)++ })
			}
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.t.d.Subscribers()
	if err != nil {
		return err
	}
	a.c.Subscribers = len(counted)
	for address, s := range counted {
		if s != wanted[address] {
			a.problem("%s counts %+v, and has %+v", address, s, wanted[address])
		}
		delete(wanted, address)
	}
	for address, s := range wanted {
		if s != zero {
			a.problem("%s has %+v, and no entry counts it", address, s)
		}
	}
	return nil
}

// portsOf is where a host's ports of a protocol are counted, as slot_protocol of bpf/nat/slot.h numbers them.
func portsOf(s *datapath.Subscriber, protocol uint32) *int {
	return [protocols]*int{&s.UDP, &s.TCP, &s.ICMP}[protocol]
}

// remotes compares what remote addresses count with the sessions that they have open.
func (a *audit) remotes() error {
	wanted := map[netip.Addr]int{}
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		if typesPhase(s.Life.As.Phase) == typesPhasePHASE_LIVE && !isOutbound(s) && s.Marks.As.Flags&sessionCounted != 0 {
			wanted[addressOf(s.RemoteAddress)]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.t.d.Remotes()
	if err != nil {
		return err
	}
	a.c.Remotes = len(counted)
	if !maps.Equal(counted, wanted) {
		a.problem("remote addresses count %v sessions, and have %v", counted, wanted)
	}
	return nil
}

// ledHosts compares what hosts count that dnat or 1:1 leads to with the sessions that they have from outside.
func (a *audit) ledHosts() error {
	wanted := map[netip.Addr]int{}
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		led := typesOrigin(s.Origin) == typesOriginORIGIN_DNAT || typesOrigin(s.Origin) == typesOriginORIGIN_OWN_IN
		if typesPhase(s.Life.As.Phase) == typesPhasePHASE_LIVE && led && s.Marks.As.Flags&sessionHairpin == 0 {
			wanted[addressOf(s.PrivateAddress)]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.t.led()
	if err == nil && !maps.Equal(counted, wanted) {
		a.problem("hosts that are led to count %v sessions, and have %v", counted, wanted)
	}
	return err
}

// led are the hosts that dnat or 1:1 leads to, and how many sessions from outside they have.
func (t *tables) led() (map[netip.Addr]int, error) {
	list := map[netip.Addr]int{}
	err := datapath.ForAll(t.of["led_table"], func(_ uint32, bucket *typesTallyBucket) {
		for _, each := range bucket.Tally {
			if count := int(each.Uses >> 32); count > 0 {
				list[addressOf(uint32(each.Uses))] += count
			}
		}
	})
	return list, err
}
