package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// How long a box may take to answer ARP, and how often it is asked.
const (
	answerWithin = 5 * time.Second
	askEvery     = 200 * time.Millisecond
)

// resolve lets the kernel find out which Ethernet address has the IP address
// behind an interface.
func resolve(ctx context.Context, ifname string, index int, address netip.Addr) (net.HardwareAddr, error) {
	fail := func(err error) error { return fmt.Errorf("ask for %s on %s: %w", address, ifname, err) }
	bind := net.Dialer{Control: func(_, _ string, connection syscall.RawConn) (err error) {
		failed := connection.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), ifname) })
		return errors.Join(failed, err)
	}}
	connection, err := bind.DialContext(ctx, "udp4", netip.AddrPortFrom(address, 9).String()) // discard
	if err != nil {
		return nil, fail(err)
	}
	defer connection.Close()
	forget(index, address)
	for deadline := time.Now().Add(answerWithin); time.Now().Before(deadline); {
		_, _ = connection.Write([]byte{0}) // fails where nobody answered
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(askEvery):
		}
		n, err := neighbour(index, address)
		if err != nil {
			return nil, fail(err)
		}
		if n != nil && n.State&(unix.NUD_REACHABLE|unix.NUD_PERMANENT) != 0 && len(n.HardwareAddr) == 6 {
			return n.HardwareAddr, nil
		}
	}
	return nil, fmt.Errorf("nobody answers ARP for %s on %s: give the box the address %s/16 there", address, ifname, address)
}

// neighbour returns what the kernel knows of the address, or nil.
func neighbour(index int, address netip.Addr) (*netlink.Neigh, error) {
	list, err := netlink.NeighList(index, netlink.FAMILY_V4)
	for i, n := range list {
		if found, _ := netip.AddrFromSlice(n.IP.To4()); found == address {
			return &list[i], err
		}
	}
	return nil, err
}

// forget removes what was learned of an earlier box.
func forget(index int, address netip.Addr) {
	if n, err := neighbour(index, address); err == nil && n != nil && n.State&unix.NUD_PERMANENT == 0 {
		_ = netlink.NeighDel(n) // the kernel may have done so meanwhile
	}
}
