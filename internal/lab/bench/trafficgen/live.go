package trafficgen

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runAttribute is BPF_PROG_TEST_RUN's part of union bpf_attr (linux/bpf.h).
type runAttribute struct {
	program, result         uint32
	sizeIn, sizeOut         uint32
	in, out                 uint64
	repeat, duration        uint32
	contextIn, contextOut   uint32
	contextInPointer        uint64
	contextOutPointer       uint64
	flags, cpu, batch, zero uint32
}

// runLive runs an XDP program over live frames that begin as frame. The eBPF
// library's own call goes on after a signal; this one returns EINTR, and that is
// how a paced generator is stopped.
func runLive(program int, frame []byte, repeat, batch uint32) error {
	attribute := runAttribute{
		program: uint32(program), sizeIn: uint32(len(frame)), in: uint64(uintptr(unsafe.Pointer(&frame[0]))),
		repeat: repeat, flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, batch: batch,
	}
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&attribute)), unsafe.Sizeof(attribute))
	runtime.KeepAlive(frame)
	if errno != 0 {
		return os.NewSyscallError("bpf(BPF_PROG_TEST_RUN)", errno)
	}
	return nil
}
