package lab

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of the ethtool ioctl (linux/ethtool.h).
const (
	ethtoolSetTxChecksum = 0x17
	ethtoolSetGRO        = 0x2c
)

// setOffload turns an interface's receive offload and transmit checksum
// offload on or off. Without the latter the kernel also stops handing over
// segments larger than the MTU.
func (n *Namespace) setOffload(ifname string, gro, txChecksum bool) error {
	err := n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := ethtool(fd, ifname, ethtoolSetGRO, gro); err != nil {
			return err
		}
		return ethtool(fd, ifname, ethtoolSetTxChecksum, txChecksum)
	})
	if err != nil {
		return fmt.Errorf("set offloads of %s in %s: %w", ifname, n.name, err)
	}
	return nil
}

// ethtool gives a command that takes one number. The structs are ethtool_value
// and ifreq, whose union is 24 octets long.
func ethtool(fd int, ifname string, command uint32, on bool) error {
	value := struct{ command, data uint32 }{command: command}
	if on {
		value.data = 1
	}
	request := struct {
		name    [unix.IFNAMSIZ]byte
		pointer unsafe.Pointer
		_       [24 - unsafe.Sizeof(uintptr(0))]byte
	}{pointer: unsafe.Pointer(&value)} // #nosec G103 -- the ioctl takes a pointer
	if len(ifname) >= unix.IFNAMSIZ {
		return fmt.Errorf("interface name %q is too long", ifname)
	}
	copy(request.name[:], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))) // #nosec G103
	runtime.KeepAlive(&value)
	if errno != 0 {
		return os.NewSyscallError(fmt.Sprintf("ethtool command %#x", command), errno)
	}
	return nil
}
