package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// mostLeft is beyond which a ban has no end.
const mostLeft = 100 * 365 * 24 * time.Hour

// Forever is until when a ban lasts that has no end.
var Forever time.Time

// PutBans bans remote prefixes, each until then, in the kernel alone. What cannot be
// put is in the error; all others are in force. Sessions with them are judged again at
// their next packet.
func (d *banTable) PutBans(bans map[netip.Prefix]time.Time) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(bans) == 0 {
		return nil
	}
	failed, count, kinds := error(nil), 0, bpfBanning(0)
	for p, until := range bans {
		end, err := bootTime(until)
		if err == nil {
			var kind bpfBanning
			kind, err = d.putBan(p, end)
			kinds |= kind
		}
		if err != nil {
			failed, count = fmt.Errorf("ban %s: %w", p, err), count+1
		}
	}
	if count > 1 {
		failed = fmt.Errorf("%w, and %d more", failed, count-1)
	}
	return errors.Join(failed, d.judgeAgain(kinds))
}

// ExcludeFromBans makes bans of wider prefixes leave out remote prefixes, in the kernel
// alone, until DeleteBans or PutBans of them. A ban of one of them ends.
func (d *banTable) ExcludeFromBans(prefixes []netip.Prefix) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, p := range prefixes {
		// A ban that is over, but where the narrowest prefix decides.
		_, err := d.putInTrie(p, 0)
		if p.IsSingleIP() && p.Addr().Is4() && err == nil {
			err = missingIsFine(d.objects.BannedAddresses.Delete(networkOrder(p.Addr())))
		}
		if err != nil {
			return fmt.Errorf("exempt %s under bans: %w", p, err)
		}
	}
	return nil
}

// JudgeAgain makes every session be judged at its next packet.
func (d *banTable) JudgeAgain() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.judgeAgain(0)
}

// DeleteBans ends bans.
func (d *banTable) DeleteBans(prefixes []netip.Prefix) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, p := range prefixes {
		if err := d.deleteBan(p); err != nil {
			return fmt.Errorf("end the ban of %s: %w", p, err)
		}
	}
	return nil
}

func (d *banTable) deleteBan(p netip.Prefix) error {
	if !p.Addr().Is4() {
		key := bannedKey6(p)
		return missingIsFine(d.objects.BannedPrefixes6.Delete(&key))
	}
	key := bannedKey(p)
	err := d.objects.BannedPrefixes.Delete(&key)
	if p.IsSingleIP() && errors.Is(err, ebpf.ErrKeyNotExist) {
		err = d.objects.BannedAddresses.Delete(key.Address)
	}
	return missingIsFine(err)
}

func missingIsFine(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// Banned lists what is banned in the kernel, or exempt under bans.
func (d *banTable) Banned() (list []netip.Prefix, err error) {
	var address uint32
	var key bpfBanned
	var key6 bpfBanned6
	var until uint64
	addresses, prefixes, prefixes6 := d.objects.BannedAddresses.Iterate(), d.objects.BannedPrefixes.Iterate(), d.objects.BannedPrefixes6.Iterate()
	for addresses.Next(&address, &until) {
		list = append(list, netip.PrefixFrom(addressOf(address), 32))
	}
	for prefixes.Next(&key, &until) {
		list = append(list, netip.PrefixFrom(addressOf(key.Address), int(key.Bits)))
	}
	for prefixes6.Next(&key6, &until) {
		list = append(list, netip.PrefixFrom(addressOf6(key6.Address), int(key6.Bits)))
	}
	if err := errors.Join(addresses.Err(), prefixes.Err(), prefixes6.Err()); err != nil {
		return nil, fmt.Errorf("list the bans: %w", err)
	}
	return list, nil
}

// putBan puts a ban where there is room for it, and there alone.
func (d *banTable) putBan(p netip.Prefix, end uint64) (kind bpfBanning, err error) {
	if p.IsSingleIP() && p.Addr().Is4() {
		key := bannedKey(p)
		err = d.objects.BannedAddresses.Put(key.Address, end)
		if err == nil {
			err = missingIsFine(d.objects.BannedPrefixes.Delete(&key))
		}
		if !errors.Is(err, unix.E2BIG) {
			return bpfBanningBANNING_ADDRESSES, err
		}
	}
	return d.putInTrie(p, end)
}

func (d *banTable) putInTrie(p netip.Prefix, end uint64) (kind bpfBanning, err error) {
	if !p.Addr().Is4() {
		key := bannedKey6(p)
		return bpfBanningBANNING_IPV6, d.objects.BannedPrefixes6.Put(&key, end)
	}
	key := bannedKey(p)
	return bpfBanningBANNING_PREFIXES, d.objects.BannedPrefixes.Put(&key, end)
}

func bannedKey(p netip.Prefix) bpfBanned {
	return bpfBanned{Bits: uint32(p.Bits()), Address: networkOrder(p.Masked().Addr())}
}

func bannedKey6(p netip.Prefix) (key bpfBanned6) {
	key.Bits = uint32(p.Bits())
	bytes := p.Masked().Addr().As16()
	for i := range key.Address.Word {
		key.Address.Word[i] = binary.NativeEndian.Uint32(bytes[4*i:])
	}
	return key
}

func addressOf6(a bpfIn6) netip.Addr {
	var bytes [16]byte
	for i, word := range a.Word {
		binary.NativeEndian.PutUint32(bytes[4*i:], word)
	}
	return netip.AddrFrom16(bytes)
}

// judgeAgain makes every session be judged at its next packet, by the same policy: the
// next generation of the same parity has the same settings and chains. Bans of these
// kinds are looked for from now on; where all are of IPv6 nothing is judged again.
func (d *banTable) judgeAgain(kinds bpfBanning) error {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return fmt.Errorf("read the generation in force: %w", err)
	}
	if banning := control.Banning | uint8(kinds); banning != control.Banning { // before the generation, so that nobody is judged by half of it
		control.Banning = banning
		if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
			return fmt.Errorf("begin to look for bans: %w", err)
		}
	}
	if kinds == bpfBanningBANNING_IPV6 { // which has no sessions
		return nil
	}
	control.Generation += 2
	if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
		return fmt.Errorf("switch to generation %d: %w", control.Generation, err)
	}
	return nil
}

// bootTime is the instant as the programs read it (bpf_ktime_get_boot_ns).
func bootTime(until time.Time) (uint64, error) {
	left := time.Until(until)
	if until.Equal(Forever) || left > mostLeft {
		return math.MaxUint64, nil
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return uint64(max(0, now.Nano()+left.Nanoseconds())), nil
}
