package netns

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// udpChecksumIsRight says whether a frame of UDP over IPv4 without options
// holds the sum of RFC 768.
func udpChecksumIsRight(frame []byte) bool {
	datagram := frame[14+20:]
	total := uint32(17 + len(datagram))
	for _, b := range [][]byte{frame[14+12 : 14+20], append(datagram, 0)[:len(datagram)+len(datagram)%2]} {
		for i := 0; i < len(b); i += 2 {
			total += uint32(binary.BigEndian.Uint16(b[i:]))
		}
	}
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return total == 0xffff
}

func TestTxChecksumOption(t *testing.T) {
	for _, offload := range []bool{false, true} {
		a, b := newPair(t, TxChecksum(EndA, offload))
		frames, err := b.Frames("eth0")
		if err != nil {
			t.Fatal(err)
		}
		defer frames.Close()
		client, err := a.DialContext(t.Context(), "udp4", "192.0.2.2:9")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Write([]byte("odd")); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			frame, err := frames.Receive(deadline)
			if err != nil {
				t.Fatal(err)
			}
			if binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
				continue // ARP
			}
			if right := udpChecksumIsRight(frame[:14+20+8+3]); right == offload {
				t.Errorf("offload %v: checksum right: %v", offload, right)
			}
			break
		}
	}
}

func TestGROOption(t *testing.T) {
	const get = 0x2b // ETHTOOL_GGRO
	a, b := newPair(t, GRO(EndB, false))
	for _, c := range []struct {
		namespace *Namespace
		want      uint32
	}{{a, 1}, {b, 0}} {
		err := c.namespace.Do(func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			value := struct{ command, data uint32 }{command: get}
			request := struct {
				name [unix.IFNAMSIZ]byte
				data *struct{ command, data uint32 }
				_    [16]byte
			}{data: &value}
			copy(request.name[:], "eth0")
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
			runtime.KeepAlive(&value)
			if errno != 0 {
				return errno
			}
			if value.data != c.want {
				t.Errorf("%s: GRO is %d, want %d", c.namespace.Name(), value.data, c.want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestMTUAndQueuesOptions(t *testing.T) {
	a, b := newPair(t, MTU(1400), Queues(2))
	for _, n := range []*Namespace{a, b} {
		err := n.withLink("eth0", func(link netlink.Link) error {
			at := link.Attrs()
			if at.MTU != 1400 || at.NumRxQueues != 2 || at.NumTxQueues != 2 {
				t.Errorf("%s: MTU %d, queues %d and %d", n.Name(), at.MTU, at.NumRxQueues, at.NumTxQueues)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestNativeXDPOption(t *testing.T) {
	program := loadXDPPass(t)
	a, b := newPair(t, NativeXDP(EndB, false))
	attach := func(n *Namespace, flags int) error {
		return n.withLink("eth0", func(link netlink.Link) error {
			if err := netlink.LinkSetXdpFdWithFlags(link, program, flags); err != nil {
				return err
			}
			return netlink.LinkSetXdpFdWithFlags(link, -1, flags)
		})
	}
	const native, generic = 1 << 2, 1 << 1 // XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE
	if err := attach(a, native); err != nil {
		t.Errorf("native on the end that has it: %v", err)
	}
	if err := attach(b, native); err == nil {
		t.Error("native on the end that has it not: no error")
	}
	if err := attach(b, generic); err != nil {
		t.Errorf("generic: %v", err)
	}
	if err := exchange(a, b, "192.0.2.2"); err != nil {
		t.Error(err)
	}
}

// loadXDPPass loads "r0 = XDP_PASS; exit".
func loadXDPPass(t *testing.T) int {
	t.Helper()
	instructions := [...]uint64{0xb7 | 2<<32, 0x95}
	license := [...]byte{'G', 'P', 'L', 0}
	attributes := struct {
		kind, count           uint32
		instructions, license *byte
		_                     [24]uint32
	}{kind: 6, count: 2, instructions: (*byte)(unsafe.Pointer(&instructions)), license: &license[0]}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attributes)), 48)
	runtime.KeepAlive(&instructions)
	if errno != 0 {
		if errors.Is(errno, unix.EPERM) && os.Geteuid() != 0 {
			t.Skip(ErrNotRoot)
		}
		t.Fatalf("load an XDP program: %v", errno)
	}
	t.Cleanup(func() { unix.Close(int(fd)) })
	return int(fd)
}

func TestFramesSendAndReceive(t *testing.T) {
	a, b := newPair(t)
	sender, err := a.Frames("eth0")
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	receiver, err := b.Frames("eth0")
	if err != nil {
		t.Fatal(err)
	}
	from, err := a.MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	to, err := b.MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	// An EtherType for experiments (RFC 9542 §3).
	frame := append(append(append(net.HardwareAddr{}, to...), from...), 0x88, 0xb5, 'r', 'g')
	if err := sender.Send(frame); err != nil {
		t.Fatal(err)
	}
	got, err := receiver.Receive(time.Now().Add(5 * time.Second))
	if err != nil || !bytes.Equal(got, frame) {
		t.Errorf("got % x, %v, want % x", got, err, frame)
	}
	// Its own sending is not received.
	if _, err := sender.Receive(time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("sender received: %v", err)
	}
	if err := receiver.Close(); err != nil {
		t.Error(err)
	}
	if _, err := receiver.Receive(time.Now()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestRoutesAndSettings(t *testing.T) {
	a, b := newPair(t)
	if err := b.Address("lo", "203.0.113.1/32"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.DialContext(context.Background(), "udp4", "203.0.113.1:7"); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("without a route: %v", err)
	}
	if err := a.Route("203.0.113.0/24", "192.0.2.2"); err != nil {
		t.Fatal(err)
	}
	if err := exchange(a, b, "203.0.113.1"); err != nil {
		t.Error(err)
	}
	if err := a.RemoveRoute("203.0.113.0/24", "192.0.2.2"); err != nil {
		t.Error(err)
	}
	if _, err := a.DialContext(context.Background(), "udp4", "203.0.113.1:7"); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("with the route removed: %v", err)
	}
	if _, err := a.DialContext(context.Background(), "udp4", "host.invalid:7"); err == nil {
		t.Error("a name was dialled")
	}
	if err := a.SetSysctl("net/ipv4/ip_default_ttl", "33"); err != nil {
		t.Error(err)
	}
	mine, err := a.Sysctl("net/ipv4/ip_default_ttl")
	other, _ := b.Sysctl("net/ipv4/ip_default_ttl")
	if err != nil || mine != "33" || other == "33" {
		t.Errorf("settings are %q and %q: %v", mine, other, err)
	}
	if err := a.Down("eth0"); err != nil {
		t.Error(err)
	}
	if _, err := a.DialContext(context.Background(), "udp4", "192.0.2.2:7"); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("with the link down: %v", err)
	}
}
