package e2e

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// bridgeInside makes the gateway's private interface a port of a bridge, as of a home router
// or of virtual machines. The port joins segments, as every network card does.
func (r *realm) bridgeInside() {
	r.t.Helper()
	r.command("gateway", "ip", "address", "flush", "dev", "eth1")
	r.command("gateway", "ethtool", "-K", "eth1", "gro", "on")
	r.must(r.Gateway.Bridge("br0", "eth1"), r.Gateway.Address("br0", "10.0.0.1/16"), r.Gateway.WaitUp())
}

// macvlans makes the gateway a container, whose interfaces are macvlans of the machine's.
func (r *realm) macvlans() {
	r.t.Helper()
	machine, err := r.Namespace("machine")
	r.must(err)
	for name, address := range map[string]string{"eth0": "198.18.0.1/24", "eth1": "10.0.0.1/16"} {
		r.command("gateway", "ip", "link", "set", name, "netns", machine.Name())
		r.command("machine", "ethtool", "-K", name, "gro", "on")
		r.must(machine.Up(name))
		r.command("machine", "ip", "link", "add", "name", "of-"+name, "link", name, "type", "macvlan", "mode", "bridge")
		r.command("machine", "ip", "link", "set", "of-"+name, "name", name, "netns", r.Gateway.Name())
		r.must(r.Gateway.Address(name, address), r.Gateway.Up(name))
	}
	r.must(r.Gateway.Route("default", "198.18.0.254"), r.Gateway.WaitUp())
}

// oneAddress has hosts go out by the address of the gateway's interface.
func (w *works) oneAddress() { w.Gateway.Outbound = w.Gateway.PublicAddress }

// tapInside makes the gateway's private interface a tap, whose frames a program carries to
// another tap at the switch: with their partial checksums and whole, as a virtual machine's.
func (r *realm) tapInside() {
	r.t.Helper()
	r.command("gateway", "ip", "link", "set", "eth1", "down")
	r.command("gateway", "ip", "address", "flush", "dev", "eth1")
	near, far := r.tun("tap0", unix.IFF_TAP), r.tun("tap1", unix.IFF_TAP)
	r.command("gateway", "ip", "link", "set", "tap1", "netns", r.ID()+"-switch")
	r.command("switch", "ip", "link", "set", "tap1", "master", "private0", "up")
	r.must(r.Gateway.Address("tap0", "10.0.0.1/16"), r.Gateway.Up("tap0"))
	r.carry(near, far)
}

// tun makes a tun or tap interface at the gateway that hands over aggregates and partial checksums, with a
// header before each frame that says so (struct virtio_net_hdr).
func (r *realm) tun(name string, kind uint16) *os.File {
	r.t.Helper()
	var file *os.File
	r.must(r.Gateway.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(kind | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err == nil {
			err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4)
		}
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		file = os.NewFile(uintptr(fd), name)
		return nil
	}))
	r.t.Cleanup(func() { _ = file.Close() })
	return file
}

// carry takes frames from either file to the other until one is closed.
func (r *realm) carry(a, b *os.File) {
	for _, way := range [][2]io.ReadWriter{{a, b}, {b, a}} {
		go func() {
			frame := make([]byte, 1<<17)
			for {
				n, err := way[0].Read(frame)
				if err != nil {
					return
				}
				_, _ = way[1].Write(frame[:n]) // lost, as on a link
			}
		}()
	}
}

func (r *realm) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}
