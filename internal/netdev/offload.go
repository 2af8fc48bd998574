package netdev

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offload is what an interface may do for its packets: a command of the ethtool ioctl that
// sets it (linux/ethtool.h).
type Offload uint32

// Offloads.
const (
	TxChecksum Offload = 0x17
	GRO        Offload = 0x2c
)

// SetOffload turns one on or off. The structs are ethtool_value and ifreq, whose union is 24
// octets long.
func SetOffload(ifname string, offload Offload, on bool) error {
	if len(ifname) >= unix.IFNAMSIZ {
		return fmt.Errorf("interface name %q is too long", ifname)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	value := struct{ command, data uint32 }{command: uint32(offload)}
	if on {
		value.data = 1
	}
	request := struct {
		name    [unix.IFNAMSIZ]byte
		pointer unsafe.Pointer
		_       [24 - unsafe.Sizeof(uintptr(0))]byte
	}{pointer: unsafe.Pointer(&value)} // #nosec G103 -- the ioctl takes a pointer
	copy(request.name[:], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))) // #nosec G103
	runtime.KeepAlive(&value)
	if errno != 0 {
		return os.NewSyscallError(fmt.Sprintf("ethtool command %#x", uint32(offload)), errno)
	}
	return nil
}
