package datapath

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
)

// tcxNext is what the program of tcx says of what it leaves to the kernel (TCX_NEXT, linux/bpf.h).
const tcxNext = ^uint32(0)

// replayBuffers has a frame come in again: the program of tcx is run over it, and sends what comes of it. What is left to the
// kernel, too long for that, or to come twice before anybody answers goes the long way, through the pair of interfaces of our own.
func (d *replayer) replayBuffers(ifindex int, frame []byte, times int) error {
	if times == 1 && len(frame) <= testRunRoom && runsUndisturbed() {
		if done, err := d.runBuffer(ifindex, frame); done || err != nil {
			return err
		}
	}
	message := slices.Concat(frame, frame[:linkAddresses])
	message[0] = replayMessage
	if times > 1 {
		message[0] = replayTwice
	}
	binary.NativeEndian.PutUint32(message[replayBy:], uint32(ifindex))
	return d.carry(message)
}

// runBuffer reports whether the program has sent or dropped the frame.
func (d *replayer) runBuffer(ifindex int, frame []byte) (done bool, err error) {
	d.mutex.Lock()
	at := slices.IndexFunc(d.ports, func(p *port) bool { return p.ifindex == ifindex })
	if at < 0 || d.ports[at].bare { // the program of a bare interface wants the frame without its link header
		d.mutex.Unlock()
		return false, nil
	}
	public := d.ports[at].side == bpfSideSIDE_PUBLIC
	d.mutex.Unlock()
	program, err := d.Entry(TCX, public, false)
	if err != nil {
		return false, err
	}
	said, err := program.Run(&ebpf.RunOptions{
		Data: frame, Context: SKBuff{Ifindex: uint32(ifindex), CB: [5]uint32{uint32(bpfReplayMarkREPLAY_BUFFER)}},
	})
	if err != nil {
		return false, fmt.Errorf("run over a frame of %d octets: %w", len(frame), err)
	}
	return said != tcxNext, nil
}
