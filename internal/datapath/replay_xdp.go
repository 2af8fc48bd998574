package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// ReplayMetadata are octets before a frame, in which the program of XDP says what becomes of it (struct replay, bpf/handshake/types.h).
const ReplayMetadata = 28

const xdpRedirect = 4 // of enum xdp_action, linux/bpf.h

// replayRoomXDP is how much longer than a frame what comes of it may be, an answer to a short one.
const replayRoomXDP = 256

// replayFrames runs the program of XDP over the frame, and sends what comes of it. Two copies are for the kernel to send, in one batch,
// as nobody is to answer the first before the second; so is what is left to it, and what could not be sent. Its live frames take
// 40 us and more to make ready, and the program alone 2. Before Linux 6.3 softirqs might break in on that, and use what
// programs have on a CPU.
func (d *replayer) replayFrames(ifindex int, frame []byte, times int, hairpin bool) error {
	program, err := d.Entry(XDP, true, false)
	if hairpin {
		program, err = d.again()
	}
	if err != nil {
		return err
	}
	return d.runFrames(program, ifindex, frame, times)
}

func (d *replayer) runFrames(program *ebpf.Program, ifindex int, frame []byte, times int) error {
	if times > 1 || !runsUndisturbed() {
		return runLive(program, ifindex, frame, times)
	}
	run := ebpf.RunOptions{
		Data:    slices.Concat(make([]byte, ReplayMetadata), frame),
		DataOut: make([]byte, ReplayMetadata+len(frame)+replayRoomXDP),
		Context: XDPMd{Data: ReplayMetadata, DataEnd: uint32(ReplayMetadata + len(frame)), IngressIfindex: uint32(ifindex)},
	}
	action, err := program.Run(&run)
	if err != nil {
		return fmt.Errorf("run over a frame of %d octets: %w", len(frame), err)
	}
	var said bpfReplay
	if _, err := binary.Decode(run.DataOut, binary.NativeEndian, &said); err != nil {
		return err
	}
	switch {
	case action == xdpRedirect && said.By != 0:
		if err := d.send(int(said.By), run.DataOut[ReplayMetadata:]); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return err
		} else if err == nil {
			return d.letNext(&said)
		}
	case action != xdpRedirect && action != xdpPass: // dropped, or held by another function
		return d.letNext(&said)
	}
	return runLive(program, ifindex, frame, 1)
}

// letNext lets pass what is next of a connection, if the frame was one that something waits for.
func (d *replayer) letNext(said *bpfReplay) error {
	if said.Key.Protocol == 0 {
		return nil
	}
	if _, err := d.objects.LetNext.Run(&ebpf.RunOptions{Context: said}); err != nil {
		return fmt.Errorf("let pass what is next of a connection to a web address: %w", err)
	}
	return nil
}

// runsUndisturbed is of the kernel's commit "bpf: Disable bh in bpf_test_run for xdp and tc prog".
var runsUndisturbed = sync.OnceValue(func() bool {
	version, err := features.LinuxVersionCode()
	return err == nil && version >= 6<<16|3<<8
})

// runLive has the kernel send what comes of the frame: at once and in place.
func runLive(program *ebpf.Program, ifindex int, frame []byte, times int) error {
	_, err := program.Run(&ebpf.RunOptions{ // of one batch, which is sent when it is through
		Data: frame, Repeat: uint32(times), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
		Context: XDPMd{DataEnd: uint32(len(frame)), IngressIfindex: uint32(ifindex)},
	})
	if err != nil {
		return fmt.Errorf("send a frame of %d octets again: %w", len(frame), err)
	}
	return nil
}
