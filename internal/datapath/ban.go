package datapath

import (
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
func (d *Datapath) PutBans(bans map[netip.Prefix]time.Time) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(bans) == 0 {
		return nil
	}
	failed, count := error(nil), 0
	for p, until := range bans {
		end, err := bootTime(until)
		if err == nil {
			key := bannedKey(p)
			err = d.objects.BanTable.Put(&key, end)
		}
		if err != nil {
			failed, count = fmt.Errorf("ban %s: %w", p, err), count+1
		}
	}
	if count > 1 {
		failed = fmt.Errorf("%w, and %d more", failed, count-1)
	}
	return errors.Join(failed, d.judgeAgain())
}

// DeleteBans ends bans.
func (d *Datapath) DeleteBans(prefixes []netip.Prefix) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, p := range prefixes {
		key := bannedKey(p)
		if err := d.objects.BanTable.Delete(&key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("end the ban of %s: %w", p, err)
		}
	}
	return nil
}

// Banned lists what is banned in the kernel.
func (d *Datapath) Banned() (list []netip.Prefix, err error) {
	var key bpfBanned
	var until uint64
	entries := d.objects.BanTable.Iterate()
	for entries.Next(&key, &until) {
		list = append(list, netip.PrefixFrom(addressOf(key.Address), int(key.Bits)))
	}
	if err := entries.Err(); err != nil {
		return nil, fmt.Errorf("list the bans: %w", err)
	}
	return list, nil
}

func bannedKey(p netip.Prefix) bpfBanned {
	return bpfBanned{Bits: uint32(p.Bits()), Address: networkOrder(p.Masked().Addr())}
}

// judgeAgain makes every session be judged at its next packet, by the same policy: the
// next generation of the same parity has the same settings and chains.
func (d *Datapath) judgeAgain() error {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return fmt.Errorf("read the generation in force: %w", err)
	}
	if control.Banning == 0 { // before the generation, so that nobody is judged by half of it
		control.Banning = 1
		if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
			return fmt.Errorf("begin to look for bans: %w", err)
		}
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
