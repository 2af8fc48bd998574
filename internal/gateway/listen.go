package gateway

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// receiveBuffer is how many octets of questions may wait, as the kernel counts
// them: about 4 KiB each where they come by XDP. Its default loses all but some
// fifty of a burst.
const receiveBuffer = 4 << 20

// listenUDP is net.ListenPacket with room for bursts.
func listenUDP(address string) (net.PacketConn, error) {
	l := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	return l.ListenPacket(context.Background(), "udp4", address)
}
