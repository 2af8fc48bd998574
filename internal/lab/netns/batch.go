package netns

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Batch is frames that are sent together, by one call, as fast as the machine can.
type Batch struct {
	frames  *Frames
	octets  [][]byte // what the vectors point at
	vectors []unix.Iovec
	headers []batchHeader
}

// batchHeader is struct mmsghdr of socket.h.
type batchHeader struct {
	header unix.Msghdr
	sent   uint32
	_      [4]byte
}

// Batch prepares frames for sending. They are not changed while the batch is in use.
func (f *Frames) Batch(frames [][]byte) *Batch {
	b := &Batch{frames: f, octets: frames, vectors: make([]unix.Iovec, len(frames)), headers: make([]batchHeader, len(frames))}
	for i, frame := range frames {
		b.vectors[i].Base = &frame[0]
		b.vectors[i].SetLen(len(frame))
		b.headers[i].header.Iov = &b.vectors[i]
		b.headers[i].header.SetIovlen(1)
	}
	return b
}

// Send sends all frames, and returns how many the interface took.
func (b *Batch) Send() (sent int, err error) {
	connection, err := b.frames.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = connection.Write(func(fd uintptr) bool {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), uintptr(len(b.headers)), 0, 0, 0)
		if sent = int(n); errno != 0 {
			sent, err = 0, errno
		}
		return true
	})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS) {
		err = nil
	}
	return sent, err
}
