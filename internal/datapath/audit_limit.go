package datapath

import (
	"maps"
	"net/netip"
)

// subscribers compares what hosts inside count with their sessions and mappings.
func (a *audit) subscribers() error {
	var zero Subscriber
	wanted := map[netip.Addr]Subscriber{}
	change := func(address uint32, count func(*Subscriber)) {
		s := wanted[addressOf(address)]
		count(&s)
		wanted[addressOf(address)] = s
	}
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		if bpfPhase(s.Life.As.Phase) == bpfPhasePHASE_LIVE && isOutbound(s) && s.Marks.As.Flags&sessionCounted != 0 {
			change(s.PrivateAddress, func(of *Subscriber) { of.Sessions++ })
		}
	})
	if err != nil {
		return err
	}
	err = each(a.d.objects.MappingTable, func(number uint32, block *bpfMappingBlock) {
		for _, word := range block.Endpoint {
			if e := endpointOf(word); bpfPhase(e.Phase) != bpfPhasePHASE_FREE && e.Counted != 0 {
				change(e.Address, func(of *Subscriber) { *of.ports(number * mappingBlock / ports % protocols)++ })
			}
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.d.Subscribers()
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

// remotes compares what remote addresses count with the sessions that they have open.
func (a *audit) remotes() error {
	wanted := map[netip.Addr]int{}
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		if bpfPhase(s.Life.As.Phase) == bpfPhasePHASE_LIVE && !isOutbound(s) && s.Marks.As.Flags&sessionCounted != 0 {
			wanted[addressOf(s.RemoteAddress)]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.d.Remotes()
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
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		led := bpfOrigin(s.Origin) == bpfOriginORIGIN_DNAT || bpfOrigin(s.Origin) == bpfOriginORIGIN_OWN_IN
		if bpfPhase(s.Life.As.Phase) == bpfPhasePHASE_LIVE && led && s.Marks.As.Flags&sessionHairpin == 0 {
			wanted[addressOf(s.PrivateAddress)]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.d.led()
	if err == nil && !maps.Equal(counted, wanted) {
		a.problem("hosts that are led to count %v sessions, and have %v", counted, wanted)
	}
	return err
}
