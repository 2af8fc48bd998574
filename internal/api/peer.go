package api

import (
	"context"
	"errors"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peer is who asks, as the kernel knows it.
type peer struct {
	uid    uint32
	groups []uint32
}

type peerKey struct{}

// withPeer notes who is at the other end of a connection; nobody where the kernel does not know.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p, err := peerOf(c)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(c net.Conn) (p peer, err error) {
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		return p, errors.New("not a Unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return p, err
	}
	failed := raw.Control(func(fd uintptr) {
		var who *unix.Ucred
		if who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil {
			return
		}
		p = peer{who.Uid, []uint32{who.Gid}}
		var more []uint32
		more, err = peerGroups(fd)
		p.groups = append(p.groups, more...)
	})
	return p, errors.Join(failed, err)
}

// mostGroups is NGROUPS_MAX of linux/limits.h.
const mostGroups = 65536

// peerGroups are the supplementary groups (SO_PEERGROUPS, unix(7)).
func peerGroups(fd uintptr) ([]uint32, error) {
	for room := 64; ; room *= 4 {
		groups := make([]uint32, room)
		length := uint32(4 * room) //nolint:gosec // at most mostGroups of 4 octets
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&length)), 0)
		switch {
		case errno == 0:
			return groups[:length/4], nil
		case errno != unix.ERANGE || room >= mostGroups:
			return nil, errno
		}
	}
}

// of is what a peer may do.
func (a Access) of(p peer) Role {
	if p.uid == 0 || int(p.uid) == os.Geteuid() {
		return Admin
	}
	return a.role(p.groups)
}
