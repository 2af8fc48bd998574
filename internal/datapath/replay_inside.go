package datapath

import (
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ReplayInside sends a frame again as it came in by a private interface, from a host that begins a flow. It is to run in the
// gateway's network namespace.
func (d *replayer) ReplayInside(ifindex int, frame []byte) error {
	if mode, _ := d.portOf(ifindex); mode == XDP {
		return d.replayFramesInside(ifindex, frame)
	}
	return d.replayBuffers(ifindex, frame, 1)
}

func (d *replayer) replayFramesInside(ifindex int, frame []byte) error {
	program, err := d.Entry(XDP, false, false)
	if err != nil {
		return err
	}
	_, err = program.Run(&ebpf.RunOptions{
		Data: frame, Repeat: 1, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
		Context: XDPMd{DataEnd: uint32(len(frame)), IngressIfindex: uint32(ifindex)},
	})
	if err != nil {
		return fmt.Errorf("send a frame of %d octets again: %w", len(frame), err)
	}
	return nil
}

// SendInside sends a frame out by a private interface, untranslated.
func (d *replayer) SendInside(ifindex int, frame []byte) error { return d.send(ifindex, frame) }
