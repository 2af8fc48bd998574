package gateway

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// receiveBuffer is how many octets of questions may wait; the kernel doubles it,
// and counts about 4 KiB for each that comes by XDP. Its default loses all but
// some fifty of a burst.
const receiveBuffer = 4 << 20

// listenUDP is net.ListenPacket with room for bursts.
func listenUDP(address string) (net.PacketConn, error) {
	l := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// Without the right to it bursts are lost, no more.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
		})
	}}
	return l.ListenPacket(context.Background(), "udp4", address)
}
