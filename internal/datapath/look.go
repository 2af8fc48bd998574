package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// What the first packet of a flow would find in the tables. Nothing of this changes them.

// IsBanned reports whether packets from and to a remote address are dropped.
func (d *Datapath) IsBanned(remote netip.Addr) (bool, error) {
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

// OutboundOf returns the outbound address that all flows of a private host leave by.
func (d *Datapath) OutboundOf(private netip.Addr) netip.Addr {
	return d.options.Outbound[d.outboundOf(networkOrder(private))]
}

// MappedTo returns the private endpoint that has an endpoint of an outbound address.
func (d *Datapath) MappedTo(protocol model.Protocol, external netip.AddrPort) (inside netip.AddrPort, mapped bool, err error) {
	outbound := slices.Index(d.options.Outbound, external.Addr())
	place := slices.Index([]model.Protocol{model.UDP, model.TCP, model.ICMP}, protocol) // slot_protocol
	if outbound < 0 || place < 0 {
		return inside, false, nil
	}
	slot := uint32((outbound*protocols+place)*ports) + uint32(external.Port())
	var block bpfMappingBlock
	if err := d.objects.MappingTable.Lookup(slot/blockPorts, &block); err != nil {
		return inside, false, fmt.Errorf("look for the mapping of %s: %w", external, err)
	}
	e := endpointOf(block.Endpoint[slot%blockPorts])
	return netip.AddrPortFrom(addressOf(e.Address), swap(e.Port)), bpfPhase(e.Phase) == bpfPhasePHASE_LIVE, nil
}

// ReservationFor returns the reservation that a first packet meets, and whether it may
// claim it now.
func (d *Datapath) ReservationFor(t model.Tuple) (met Reservation, found, claims bool, err error) {
	now := Now()
	err = forEach(d.objects.ReservationTable, func(_ uint32, record *bpfReservation) {
		r := reservationOf(record)
		if !r.Open || r.Address != t.Destination.Addr() || r.Port != 0 && r.Port != t.Destination.Port() ||
			r.Protocol != model.AnyProtocol && r.Protocol != t.Protocol || r.Source.IsValid() && !r.Source.Contains(t.Source.Addr()) {
			return
		}
		met, found, claims = r, true, claimable(record, t.Source.Addr(), now)
	})
	return met, found, claims, err
}

// claimable is reservation_claim of bpf/include/reservation.h.
func claimable(r *bpfReservation, source netip.Addr, now model.Instant) bool {
	const shift = 20 // CLAIM_TICK_SHIFT
	for _, c := range r.Claimer {
		if c.Source == networkOrder(source) && int32(c.Until-uint32(uint64(now)>>shift)) > 0 {
			return true
		}
	}
	left := claimsOf(r.Claims)
	return left.Left > 0 && uint64(now) < r.Expires || left.Merged > 0 && uint64(now) < r.MergedUntil
}

// JudgedNow reports whether the generation in force has judged the session.
func (d *Datapath) JudgedNow(s Session) (bool, error) {
	generation, err := d.Generation()
	return s.Generation == generation<<judgedBits>>judgedBits, err
}
