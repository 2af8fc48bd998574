package dataplane

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Action is what a program said of a packet.
type Action string

// The actions, whatever the hook.
const (
	Drop     Action = "drop"
	Pass     Action = "pass" // to the kernel
	Redirect Action = "redirect"
)

// actions are those of each hook (enum xdp_action, enum tcx_action_base).
var actions = map[datapath.Mode]map[uint32]Action{
	datapath.XDP: {1: Drop, 2: Pass, 4: Redirect},
	datapath.TCX: {2: Drop, ^uint32(0): Pass, 7: Redirect},
}

// Injected is a frame and how it comes.
type Injected struct {
	datapath.Frame
	// Mode is XDP or TCX; empty is XDP.
	Mode datapath.Mode
	// Segments and SegmentSize are of an aggregate (gso_segs, gso_size), which only TCX takes.
	Segments, SegmentSize uint32
	// Complete says that the interface has added all octets up (CHECKSUM_COMPLETE), which only
	// TCX knows of: Inject fails with ErrSum where the frame is not what the sum then says.
	Complete bool
	// Metadata are octets before the frame, which only XDP takes, and has for who sends it.
	Metadata int
}

// ErrSum is Inject's for Injected.Complete.
var ErrSum = errors.New("the sum beside the frame is not the frame's")

// Inject runs a frame through the side's program as if it had come by the
// interface, and returns what it said and made of the frame. Nothing is sent;
// sessions are opened as by real packets. It must run in the gateway's network
// namespace.
func Inject(d *datapath.Datapath, in Injected) (Action, []byte, error) {
	if in.Mode == "" {
		in.Mode = datapath.XDP
	}
	data := slices.Concat(make([]byte, in.Metadata), in.Octets)
	options := ebpf.RunOptions{Data: data, DataOut: make([]byte, len(data)+256)}
	if in.Mode == datapath.XDP {
		options.Context = datapath.XDPMd{Data: uint32(in.Metadata), DataEnd: uint32(len(data)), IngressIfindex: uint32(in.Ifindex)}
	} else {
		options.Context = datapath.SKBuff{Ifindex: uint32(in.Ifindex), GsoSegs: in.Segments, GsoSize: in.SegmentSize}
	}
	if in.Complete {
		options.Flags |= unix.BPF_F_TEST_SKB_CHECKSUM_COMPLETE
	}
	program, err := d.Entry(in.Mode, in.Public, false)
	if err != nil {
		return "", nil, err
	}
	said, err := program.Run(&options)
	if in.Complete && errors.Is(err, unix.EBADMSG) {
		return "", nil, ErrSum
	}
	if err != nil {
		return "", nil, fmt.Errorf("run a frame of %d bytes through the data plane: %w", len(in.Octets), err)
	}
	action, known := actions[in.Mode][said]
	if !known {
		return "", nil, fmt.Errorf("the data plane says %d of a frame, which is no action", int32(said))
	}
	return action, options.DataOut[in.Metadata:], nil
}
