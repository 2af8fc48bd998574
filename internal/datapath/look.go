package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// IsBanned reports whether packets from and to a remote address are dropped.
func (d *lookup) IsBanned(remote netip.Addr) (bool, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return false, fmt.Errorf("read the clock: %w", err)
	}
	within := netip.PrefixFrom(remote, remote.BitLen())
	var alone, prefix uint64
	var err error
	if remote.Is4() {
		key := bannedKey(within)
		err = errors.Join(missingIsFine(d.objects.BannedAddresses.Lookup(&key.Address, &alone)), missingIsFine(d.objects.BannedPrefixes.Lookup(&key, &prefix)))
	} else {
		key := bannedKey6(within)
		err = missingIsFine(d.objects.BannedPrefixes6.Lookup(&key, &prefix))
	}
	if err != nil {
		return false, fmt.Errorf("look for a ban of %s: %w", remote, err)
	}
	return max(alone, prefix) > uint64(now.Nano()), nil
}

// OutboundOf returns the outbound address that all flows of a private host leave by; there may
// be none.
func (d *lookup) OutboundOf(private netip.Addr) (outbound netip.Addr, err error) {
	slots, err := d.Slots()
	if err != nil {
		return outbound, err
	}
	shares, err := d.shares()
	if err != nil {
		return outbound, err
	}
	if number := int(shares.Slot[d.shareOf(networkOrder(private))]); number < len(slots) {
		outbound = slots[number].Address
	}
	return outbound, nil
}

// MappedTo returns the private endpoint that has an endpoint of an outbound address.
func (d *lookup) MappedTo(protocol model.Protocol, external netip.AddrPort) (inside netip.AddrPort, mapped bool, err error) {
	all, err := d.Slots()
	if err != nil {
		return inside, false, err
	}
	outbound := slices.IndexFunc(all, func(s Slot) bool { return s.State == SlotLive && s.Address == external.Addr() })
	place := slices.Index([]model.Protocol{model.UDP, model.TCP, model.ICMP}, protocol) // slot_protocol
	if outbound < 0 || place < 0 {
		return inside, false, nil
	}
	slot := uint32((outbound*protocols+place)*ports) + uint32(external.Port())
	var block bpfMappingBlock
	if err := d.objects.MappingTable.Lookup(slot/mappingBlock, &block); err != nil {
		return inside, false, fmt.Errorf("look for the mapping of %s: %w", external, err)
	}
	e := endpointOf(block.Endpoint[slot%mappingBlock])
	return netip.AddrPortFrom(addressOf(e.Address), swap(e.Port)), bpfPhase(e.Phase) == bpfPhasePHASE_LIVE, nil
}

// BoundTo returns the open binding that a packet from outside meets, and the host's port
// that it goes to.
func (d *lookup) BoundTo(t model.Tuple) (b Binding, hostPort uint16, found bool, err error) {
	var met bpfBoundPort
	err = forEach(d.objects.BoundPortTable, func(_ uint32, p *bpfBoundPort) {
		if p.Number == 0 || addressOf(p.Address) != t.Destination.Addr() {
			return
		}
		exact := p.Protocol == uint8(t.Protocol) && (t.Protocol == model.ICMP || swap(p.Port) == t.Destination.Port())
		if exact || p.Protocol == uint8(model.AnyProtocol) && met.Number == 0 {
			met = *p
		}
	})
	if err != nil || met.Number == 0 {
		return b, 0, false, err
	}
	var record bpfBinding
	if err := d.objects.BindingTable.Lookup(uint32(met.Binding), &record); err != nil {
		return b, 0, false, fmt.Errorf("read the binding of %s: %w", t.Destination, err)
	}
	hostPort = swap(met.HostPort)
	if hostPort == 0 {
		hostPort = t.Destination.Port()
	}
	return d.bindingOf(uint32(met.Binding), &record), hostPort, record.Number == met.Number && record.Open != 0, nil
}

// KnownTo reports whether a client is known to a binding, and how many of its sessions stand that one of the
// protocol counts with: TCP's, or all others'.
func (d *lookup) KnownTo(binding uint64, client netip.Addr, protocol model.Protocol) (sessions int, known bool, err error) {
	wanted, tick := knownKey(client, numberOf(binding)), uint32(Now()>>tickShift)
	err = forAll(d.objects.KnownTable, func(_ uint32, k *bpfKnown) {
		life := knownLifeOf(k.Life)
		if k.Key == wanted && k.Life != knownTaken && (life.Tcp > 0 || life.Others > 0 || int32(tick-life.Stamp) <= knownTicks) {
			sessions, known = int(sessionsOf(life, protocol)), true
		}
	})
	return sessions, known, err
}

// CheckedNow reports whether the generation in force has checked the session.
func (d *lookup) CheckedNow(s Session) (bool, error) {
	generation, err := d.Generation()
	return s.Generation == generation<<policyBits>>policyBits, err
}
