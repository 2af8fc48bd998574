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

// SetOffload turns one on or off.
func SetOffload(ifname string, offload Offload, on bool) error {
	value := ethtoolValue{command: uint32(offload)}
	if on {
		value.data = 1
	}
	return value.ask(ifname)
}

// What the command ETHTOOL_GFLAGS tells.
const (
	getFlags      = 0x25
	flagStripVLAN = 1 << 8  // ETH_FLAG_RXVLAN
	flagLRO       = 1 << 15 // ETH_FLAG_LRO
)

// ReceiveOffloads are what an interface does to frames before XDP sees them.
type ReceiveOffloads struct{ LRO, StripsVLAN bool }

// Receives says which of them are on.
func Receives(ifname string) (ReceiveOffloads, error) {
	value := ethtoolValue{command: getFlags}
	err := value.ask(ifname)
	return ReceiveOffloads{LRO: value.data&flagLRO != 0, StripsVLAN: value.data&flagStripVLAN != 0}, err
}

// Driver is that of an interface, as ethtool -i names it; "" where nobody says.
func Driver(ifname string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, ifname)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Driver[:])
}

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ command, data uint32 }

// ask has the kernel take the value and fill it in. The other struct is ifreq, whose union is 24 octets long.
func (v *ethtoolValue) ask(ifname string) error {
	if len(ifname) >= unix.IFNAMSIZ {
		return fmt.Errorf("interface name %q is too long", ifname)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	request := struct {
		name    [unix.IFNAMSIZ]byte
		pointer unsafe.Pointer
		_       [24 - unsafe.Sizeof(uintptr(0))]byte
	}{pointer: unsafe.Pointer(v)} // #nosec G103 -- the ioctl takes a pointer
	copy(request.name[:], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))) // #nosec G103
	runtime.KeepAlive(v)
	if errno != 0 {
		return os.NewSyscallError(fmt.Sprintf("ethtool command %#x", v.command), errno)
	}
	return nil
}
