package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// IsBanned reports whether packets from and to a remote address are dropped.
func IsBanned(d *datapath.Datapath, remote netip.Addr) (bool, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return false, fmt.Errorf("read the clock: %w", err)
	}
	t := d.Tables()
	var alone, prefix uint64
	var err error
	if remote.Is4() {
		key := typesBanned{Bits: 32, Address: networkOrder(remote)}
		err = errors.Join(missingIsFine(t["banned_addresses"].Lookup(&key.Address, &alone)), missingIsFine(t["banned_prefixes"].Lookup(&key, &prefix)))
	} else {
		key := typesBanned6{Bits: 128}
		bytes := remote.As16()
		for i := range key.Address.Word {
			key.Address.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
		}
		err = missingIsFine(t["banned_prefixes6"].Lookup(&key, &prefix))
	}
	if err != nil {
		return false, fmt.Errorf("look for a ban of %s: %w", remote, err)
	}
	return max(alone, prefix) > uint64(now.Nano()), nil
}

func missingIsFine(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// OutboundOf returns the outbound address that all flows of a private host leave by; there may
// be none.
func OutboundOf(d *datapath.Datapath, private netip.Addr) (outbound netip.Addr, err error) {
	t, err := tablesOf(d)
	if err != nil {
		return outbound, err
	}
	slots, err := d.Slots()
	if err != nil {
		return outbound, err
	}
	var shares typesShares
	if err := t.of["share_table"].Lookup(uint32(0), &shares); err != nil {
		return outbound, fmt.Errorf("read by which outbound addresses hosts leave: %w", err)
	}
	if number := int(shares.Slot[t.d.ShareOf(networkOrder(private))]); number < len(slots) {
		outbound = slots[number].Address
	}
	return outbound, nil
}

// BoundTo returns the open binding that a packet from outside meets, and the host's port
// that it goes to.
func BoundTo(d *datapath.Datapath, p model.Tuple) (b datapath.Binding, hostPort uint16, found bool, err error) {
	t, err := tablesOf(d)
	if err != nil {
		return b, 0, false, err
	}
	var met typesBoundPort
	err = datapath.ForEach(t.of["bound_port_table"], func(_ uint32, port *typesBoundPort) {
		if port.Number == 0 || addressOf(port.Address) != p.Destination.Addr() {
			return
		}
		exact := port.Protocol == uint8(p.Protocol) && (p.Protocol == model.ICMP || swap(port.Port) == p.Destination.Port())
		if exact || port.Protocol == uint8(model.AnyProtocol) && met.Number == 0 {
			met = *port
		}
	})
	if err != nil || met.Number == 0 {
		return b, 0, false, err
	}
	hostPort = swap(met.HostPort)
	if hostPort == 0 {
		hostPort = p.Destination.Port()
	}
	all, err := d.Bindings()
	for _, b = range all {
		if b.ID == uint64(met.Number)<<32|uint64(met.Binding-1) {
			return b, hostPort, b.Open, err
		}
	}
	return datapath.Binding{}, 0, false, err
}

// KnownTo reports whether a client is known to a binding, and how many of its sessions stand that one of the
// protocol counts with: TCP's, or all others'.
func KnownTo(d *datapath.Datapath, binding uint64, client netip.Addr, protocol model.Protocol) (sessions int, known bool, err error) {
	t, err := tablesOf(d)
	if err != nil {
		return 0, false, err
	}
	wanted, tick := knownKey(client, uint32(binding>>32)), uint32(datapath.Now()>>tickShift)
	err = datapath.ForAll(t.of["known_table"], func(_ uint32, k *typesKnown) {
		life := knownLifeOf(k.Life)
		if k.Key != wanted || k.Life == ^uint64(0) || life.Tcp == 0 && life.Others == 0 && int32(tick-life.Stamp) > knownTicks {
			return // KNOWN_TAKEN of bpf/pool/known.h is all ones
		}
		known, sessions = true, int(life.Others)
		if protocol == model.TCP {
			sessions = int(life.Tcp)
		}
	})
	return sessions, known, err
}
