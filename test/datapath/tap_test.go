package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// tap is an interface of the gateway whose link is this process. Its frames are socket buffers
// as a virtual machine makes them: a sum may be left to an interface, a frame may be an
// aggregate, and of a long one as much lies in one piece as is asked for.
type tap struct {
	file   *os.File
	octets []byte // of the frame that was read last
	bare   bool   // a tun: there are no link headers, and tests see one of zeros
}

// header is the length of a link header.
const header = 14

// linkHeader stands before each frame (struct virtio_net_hdr).
type linkHeader struct {
	leftSum             bool // to the interface
	aggregate           uint8
	linear, segmentSize uint16
	sumStart, sumOffset uint16
}

const (
	linkHeaderOctets = 10
	noAggregate      = 0
	aggregateOfTCP   = 1 // VIRTIO_NET_HDR_GSO_TCPV4
	aggregateOfUDP   = 5 // VIRTIO_NET_HDR_GSO_UDP_L4
)

// newTap makes one in this thread's network namespace; bare: a tun.
func newTap(name string, bare bool) (*tap, error) {
	device, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(either[uint16](bare, unix.IFF_TUN, unix.IFF_TAP) | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	err = unix.IoctlIfreq(device, unix.TUNSETIFF, request)
	if err == nil {
		err = unix.IoctlSetInt(device, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6|unix.TUN_F_USO4|unix.TUN_F_USO6)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the tap %s: %w", name, err), unix.Close(device))
	}
	return &tap{file: os.NewFile(uintptr(device), name), octets: make([]byte, 1<<17), bare: bare}, nil
}

// send gives the gateway a frame, and returns when its program has seen it.
func (t *tap) send(h linkHeader, frame []byte) error {
	if t.bare {
		frame = frame[min(header, len(frame)):]
		h.linear -= min(header, h.linear)
		h.sumStart -= min(header, h.sumStart)
	}
	b := make([]byte, linkHeaderOctets, linkHeaderOctets+len(frame))
	if h.leftSum {
		b[0] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM
	}
	b[1] = h.aggregate
	for i, v := range []uint16{h.linear, h.segmentSize, h.sumStart, h.sumOffset} {
		binary.NativeEndian.PutUint16(b[2+2*i:], v)
	}
	_, err := unix.Write(t.descriptor(), append(b, frame...))
	return err
}

// receive returns the next frame that the gateway has sent, nil where there is none.
func (t *tap) receive() (h linkHeader, frame []byte, err error) {
	n, err := unix.Read(t.descriptor(), t.octets)
	if errors.Is(err, unix.EAGAIN) {
		return h, nil, nil
	}
	if err != nil {
		return h, nil, err
	}
	b := t.octets
	h.leftSum, h.aggregate = b[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0, b[1]
	for i, v := range []*uint16{&h.linear, &h.segmentSize, &h.sumStart, &h.sumOffset} {
		*v = binary.NativeEndian.Uint16(b[2+2*i:])
	}
	if !t.bare {
		return h, b[linkHeaderOctets:n], nil
	}
	if h.leftSum {
		h.sumStart += header
	}
	frame = append(make([]byte, header), b[linkHeaderOctets:n]...)
	if frame[header]>>4 == 4 {
		frame[12] = 8
	}
	return h, frame, nil
}

func (t *tap) descriptor() int { return int(t.file.Fd()) }

// taps are the links of a gateway to the public side, true, and to the private one.
type taps map[bool]*tap

// kinds says which links of a gateway are bare: to the public side, true, and to the private one.
type kinds map[bool]bool

// allKinds are all that there are of two links.
var allKinds = map[string]kinds{
	"taps": {}, "a tun outside": {true: true}, "a tun inside": {false: true}, "tuns": {true: true, false: true},
}

// tapped is a gateway whose eth0 and eth1 are taps or tuns.
func tapped(t testing.TB, bare kinds, options ...option) (*gateway, taps) {
	t.Helper()
	links := taps{}
	g := newGateway(t, append(append([]option{auto}, options...), func(s *setup) {
		s.before = func() error {
			for public, address := range map[bool]netip.Prefix{true: netip.PrefixFrom(publicAddress, 24), false: netip.PrefixFrom(privateAddress, 16)} {
				link, err := becomeTap(either(public, "eth0", "eth1"), bare[public], address)
				if err != nil {
					return err
				}
				links[public] = link
			}
			if !bare[true] {
				neighbour(t, ifindex(t, "eth0"), router, packets.RouterMAC)
			}
			if !bare[false] {
				neighbour(t, ifindex(t, "eth1"), hostA, packets.HostMAC)
				neighbour(t, ifindex(t, "eth1"), hostB, packets.OtherHostMAC)
			}
			return netlink.RouteReplace(&netlink.Route{LinkIndex: ifindex(t, "eth0"), Gw: router.AsSlice()})
		}
	})...)
	t.Cleanup(func() {
		for _, link := range links {
			check(t, link.file.Close())
		}
	})
	g.in(func() error { g.public, g.private = ifindex(t, "eth0"), ifindex(t, "eth1"); return nil })
	return g, links
}

// becomeTap puts a tap or tun in an interface's place.
func becomeTap(name string, bare bool, address netip.Prefix) (*tap, error) {
	old, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if err := netlink.LinkDel(old); err != nil {
		return nil, err
	}
	made, err := newTap(name, bare)
	if err != nil {
		return nil, err
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	a, err := netlink.ParseAddr(address.String())
	if err != nil {
		return nil, err
	}
	// What the kernel says by itself is not looked at.
	off := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	return made, errors.Join(off, netlink.LinkSetMTU(link, 9000), netlink.AddrAdd(link, a), netlink.LinkSetUp(link))
}
