package datapath

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Action is what a program said of a packet (enum xdp_action).
type Action uint32

// The XDP actions.
const (
	Aborted Action = iota
	Drop
	Pass
	Transmit
	Redirect
)

const actionPass = uint32(Pass)

// String returns the action in lower case.
func (a Action) String() string {
	names := [...]string{"aborted", "drop", "pass", "transmit", "redirect"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("action-%d", uint32(a))
}

// Inject runs a frame through the side's program as if it had come by the
// interface, and returns what it said and made of the frame. Nothing is sent;
// sessions are opened as by real packets. It must run in the gateway's network
// namespace.
func (d *Datapath) Inject(public bool, ifindex int, frame []byte) (Action, []byte, error) {
	program := d.objects.GatewayPrivate
	if public {
		program = d.objects.GatewayPublic
	}
	out := make([]byte, len(frame)+256)
	options := ebpf.RunOptions{
		Data: frame, DataOut: out,
		Context: bpfXdpMd{DataEnd: uint32(len(frame)), IngressIfindex: uint32(ifindex)},
	}
	action, err := program.Run(&options)
	if err != nil {
		return Aborted, nil, fmt.Errorf("run a frame of %d bytes through the data plane: %w", len(frame), err)
	}
	return Action(action), options.DataOut, nil
}

// bpfXdpMd is struct xdp_md of linux/bpf.h.
type bpfXdpMd struct {
	Data, DataEnd, DataMeta                     uint32
	IngressIfindex, RxQueueIndex, EgressIfindex uint32
}
