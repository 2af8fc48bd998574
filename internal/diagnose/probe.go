package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	probeRounds = 3                     // how often an address is asked for (RFC 5227 §1.1)
	probePause  = time.Second           // between the rounds, and after the last
	probeEvery  = 10 * time.Millisecond // between two questions, on all links together
)

// target is what is asked for on a link.
type target struct {
	Interface
	addresses []netip.Addr
	socket    *os.File // while it is asked
}

// open opens the sockets of targets, in the network namespace of the caller.
func open(targets []target) error {
	for i := range targets {
		var err error
		if targets[i].socket, err = openARP(targets[i].Index); err != nil {
			for _, t := range targets[:i] {
				_ = t.socket.Close()
			}
			return fmt.Errorf("ask by ARP on %s: %w", targets[i].Name, err)
		}
	}
	return nil
}

// ask asks for the addresses of all targets, and tells found of each that somebody has who
// is not in ours, which holds link addresses. It returns when all are answered, nobody
// answered in so many rounds, or ctx has ended, and closes their sockets.
func ask(ctx context.Context, rounds int, targets []target, ours map[string]bool, found func(netip.Addr, Neighbour)) error {
	var errs []error
	for _, t := range targets {
		err := t.ask(ctx, rounds, ours, found)
		_ = t.socket.Close()
		if err != nil && !errors.Is(err, unix.ENETDOWN) && !errors.Is(err, unix.ENXIO) { // it went down, or has gone, meanwhile
			errs = append(errs, fmt.Errorf("ask by ARP on %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (t *target) ask(ctx context.Context, rounds int, ours map[string]bool, found func(netip.Addr, Neighbour)) error {
	mac, err := net.ParseMAC(t.MAC)
	if err != nil {
		return err
	}
	open := map[netip.Addr]bool{}
	for _, a := range t.addresses {
		open[a] = true
	}
	buffer := make([]byte, 1514)
	listen := func(until time.Time) error {
		if err := t.socket.SetReadDeadline(until); err != nil {
			return err
		}
		for len(open) > 0 {
			n, err := t.socket.Read(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil
			}
			if err != nil {
				return err
			}
			if a, who, ok := owner(buffer[:n]); ok && open[a] && !ours[who.String()] {
				delete(open, a)
				found(a, Neighbour{t.Name, who.String()})
			}
		}
		return nil
	}
	for range rounds {
		for _, a := range t.addresses {
			if !open[a] {
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			if _, err := t.socket.Write(probe(mac, a)); err != nil {
				return err
			}
			if err := listen(time.Now().Add(probeEvery)); err != nil {
				return err
			}
		}
		for end := time.Now().Add(probePause); len(open) > 0 && time.Now().Before(end) && ctx.Err() == nil; {
			if err := listen(time.Now().Add(probePause / 10)); err != nil {
				return err
			}
		}
	}
	return nil
}

// openARP opens a socket for the ARP packets of an interface. What the kernel itself sends
// there it does not receive; answers reach it also where a program of XDP is attached that
// lets ARP answers pass.
func openARP(link int) (*os.File, error) {
	// Protocol 0 receives nothing until bind has chosen the interface.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	if err == nil {
		const protocol = arpType<<8&0xff00 | arpType>>8 // network byte order
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: link})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "ARP"), nil
}
