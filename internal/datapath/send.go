package datapath

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem send send ../../bpf/send.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// testRunRoom is how many octets of a socket buffer a test run takes at least: a page of 4 KiB, without what the kernel
// keeps before and behind them (bpf_prog_test_run_skb).
const testRunRoom = 3584

// sender sends frames by a program (bpf/send.bpf.c).
type sender struct {
	sendObjects

	appending sync.Mutex // held while the table is in use
}

func (d *core) loadSender() error {
	if err := loadSendObjects(&d.sender.sendObjects, nil); err != nil {
		return fmt.Errorf("load the program that sends frames: %w", err)
	}
	return nil
}

// send sends a frame out by an interface, without its link header where links have none. It is to run in the gateway's
// network namespace.
func (d *core) send(ifindex int, frame []byte) error {
	if err := d.sender.send(ifindex, frame); err != nil {
		return fmt.Errorf("send a frame of %d octets: %w", len(frame), err)
	}
	return nil
}

func (s *sender) send(ifindex int, frame []byte) error {
	var rest []byte
	if len(frame) > testRunRoom {
		frame, rest = frame[:testRunRoom], frame[testRunRoom:]
		room := int(s.SendRest.ValueSize())
		if len(rest) > room {
			return unix.EMSGSIZE
		}
		s.appending.Lock()
		defer s.appending.Unlock()
		whole := slices.Concat(rest, make([]byte, room-len(rest)))
		if err := s.SendRest.Put(uint32(0), whole); err != nil {
			return err
		}
	}
	said, err := s.FrameSend.Run(&ebpf.RunOptions{
		Data: frame, Context: SKBuff{CB: [5]uint32{uint32(ifindex), uint32(len(rest))}}, //nolint:gosec // an index and a length
	})
	switch code := int32(said); { //nolint:gosec // an int in C
	case err != nil:
		return err
	case code < 0:
		return unix.Errno(-code)
	case code == netXmitDrop:
		return unix.ENOBUFS
	}
	return nil
}

// netXmitDrop is NET_XMIT_DROP of linux/netdevice.h: there was no room to queue it.
const netXmitDrop = 1
