package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// DialContext connects from inside the namespace, as net.Dialer does. address
// is numeric: there is no name service in here. It fits http.Transport.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return s.DialFrom(ctx, network, netip.AddrPort{}, address)
}

// DialFrom is DialContext with a local address, and port where it is not 0; an
// invalid local means any.
func (s *sockets) DialFrom(ctx context.Context, network string, local netip.AddrPort, address string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, fmt.Errorf("dial from %s: %w: only numeric addresses can be reached", s.name, err)
	}
	var dialer net.Dialer
	if local.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(local)
		if strings.HasPrefix(network, "udp") {
			dialer.LocalAddr = net.UDPAddrFromAddrPort(local)
		}
	}
	var connection net.Conn
	err := s.Do(func() (err error) {
		connection, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return connection, err
}

// Listen listens for connections inside the namespace. address is numeric.
func (s *sockets) Listen(network, address string) (net.Listener, error) {
	var listener net.Listener
	err := s.Do(func() (err error) {
		listener, err = net.Listen(network, address)
		return err
	})
	return listener, err
}

// ListenPacket opens a packet socket (UDP) inside the namespace. address is
// numeric.
func (s *sockets) ListenPacket(network, address string) (net.PacketConn, error) {
	var connection net.PacketConn
	err := s.Do(func() (err error) {
		connection, err = net.ListenPacket(network, address)
		return err
	})
	return connection, err
}

// Frames sends and receives whole Ethernet frames on one interface.
type Frames struct{ file *os.File }

// Frames opens an interface for sending and receiving frames beside the
// kernel's own traffic. What the kernel itself sends there is not received.
func (s *sockets) Frames(ifname string) (*Frames, error) {
	fail := func(err error) (*Frames, error) {
		return nil, fmt.Errorf("open frames on %s in %s: %w", ifname, s.name, err)
	}
	var frames *Frames
	err := s.withLink(ifname, func(link netlink.Link) (err error) {
		frames, err = openFrames(link)
		return err
	})
	if err != nil {
		return fail(err)
	}
	return frames, nil
}

// receiveBuffer holds some thousand frames: each counts as the page it lies in.
const receiveBuffer = 16 << 20

func openFrames(link netlink.Link) (*Frames, error) {
	// Protocol 0 receives nothing until bind has chosen the interface.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer))
	if err == nil {
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // network byte order
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Attrs().Index})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &Frames{file: os.NewFile(uintptr(fd), "frames on "+link.Attrs().Name)}, nil
}

// Send sends a frame as it is.
func (f *Frames) Send(frame []byte) error {
	_, err := f.file.Write(frame)
	return err
}

// Receive returns the next frame, or os.ErrDeadlineExceeded when none came
// before the deadline.
func (f *Frames) Receive(deadline time.Time) ([]byte, error) {
	if err := f.file.SetReadDeadline(deadline); err != nil {
		return nil, fmt.Errorf("receive: %w: %w", os.ErrClosed, err)
	}
	buffer := make([]byte, 65536)
	length, err := f.file.Read(buffer)
	return buffer[:length], err
}

// Read is Receive into a buffer, without a deadline. It cuts off what has no
// room there.
func (f *Frames) Read(buffer []byte) (int, error) { return f.file.Read(buffer) }

// Close closes the socket; Receive and Read then return os.ErrClosed, also when they
// wait.
func (f *Frames) Close() error { return f.file.Close() }
