package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// askedTogether is how many addresses the kernel asks for at a time. It has room for 128 neighbours before it looks for
	// some to forget (gc_thresh1).
	askedTogether = 100
	askedEvery    = 50 * time.Millisecond // how often its answer is looked at
	// The kernel asks three times, a second apart (mcast_solicit, retrans_time_ms).
	askedThrice = 3500 * time.Millisecond
	askedOnce   = 900 * time.Millisecond

	extManaged = 1 << 0 // NTF_EXT_MANAGED, linux/neighbour.h
)

// target is what is asked for on a link.
type target struct {
	Interface
	addresses []netip.Addr
}

// asker has the kernel ask for neighbours by ARP, in the network namespace it was made in. That takes no right to send frames.
type asker struct{ *netlink.Handle }

func newAsker() (asker, error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return asker{}, fmt.Errorf("ask the kernel for neighbours: %w", err)
	}
	return asker{handle}, nil
}

// ask asks for the addresses of all targets, and tells found of each that somebody has who is not in ours, which holds link
// addresses. It returns when all are answered, those left were asked for so long in vain, or ctx has ended.
func (a asker) ask(ctx context.Context, patience time.Duration, targets []target, ours map[string]bool, found func(netip.Addr, Neighbour)) error {
	var errs []error
	for _, t := range targets {
		for some := range slices.Chunk(t.addresses, askedTogether) {
			if ctx.Err() != nil {
				break
			}
			err := a.askSome(ctx, patience, t.Index, some, func(address netip.Addr, mac net.HardwareAddr) {
				if !ours[mac.String()] {
					found(address, Neighbour{t.Name, mac.String()})
				}
			})
			if err != nil && !errors.Is(err, unix.ENETDOWN) && !errors.Is(err, unix.ENODEV) { // it went down, or has gone, meanwhile
				errs = append(errs, fmt.Errorf("ask by ARP on %s: %w", t.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (a asker) askSome(ctx context.Context, patience time.Duration, link int, addresses []netip.Addr, answered func(netip.Addr, net.HardwareAddr)) error {
	before, err := a.NeighList(link, unix.AF_INET)
	if err != nil {
		return err
	}
	addresses = slices.DeleteFunc(slices.Clone(addresses), func(address netip.Addr) bool {
		return slices.ContainsFunc(before, func(e netlink.Neigh) bool {
			return e.IP.Equal(address.AsSlice()) && isPut(e)
		})
	})
	open := map[netip.Addr]bool{}
	defer func() {
		for _, address := range addresses {
			_ = a.NeighDel(entry(link, address)) // whether somebody has it is asked anew the next time
		}
	}()
	for _, address := range addresses {
		_ = a.NeighDel(entry(link, address)) // what the kernel remembers may be old
		if err := a.NeighSet(entry(link, address)); err != nil {
			return fmt.Errorf("for %s: %w", address, err)
		}
		open[address] = true
	}
	tick := time.NewTicker(askedEvery)
	defer tick.Stop()
	for end := time.Now().Add(patience); len(open) > 0 && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		entries, err := a.NeighList(link, unix.AF_INET)
		if err != nil {
			return err
		}
		for _, e := range entries {
			address, _ := netip.AddrFromSlice(e.IP.To4())
			known := e.State&(unix.NUD_REACHABLE|unix.NUD_STALE|unix.NUD_DELAY|unix.NUD_PROBE) != 0
			if !open[address] || !known && e.State&unix.NUD_FAILED == 0 {
				continue
			}
			delete(open, address)
			if known {
				answered(address, e.HardwareAddr)
			}
		}
	}
	return nil
}

// isPut reports whether an entry is of an administrator or a routing daemon, and not what the kernel has learned.
func isPut(e netlink.Neigh) bool {
	return e.State&(unix.NUD_PERMANENT|unix.NUD_NOARP) != 0 || e.Flags&unix.NTF_EXT_LEARNED != 0 || e.FlagsExt&extManaged != 0
}

// entry has the kernel find out about a neighbour, as when something is to be sent there.
func entry(link int, address netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: link, Family: unix.AF_INET, IP: address.AsSlice(), Flags: unix.NTF_USE}
}
