package datapath

import (
	"errors"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
)

// Lacking are the features of BPF that the programs use and this kernel has not. It needs the right to load programs.
func Lacking() (list []string) {
	for _, f := range []struct {
		name string
		have func() error
	}{
		{"programs at XDP", func() error { return features.HaveProgramType(ebpf.XDP) }},
		{"programs of traffic control", func() error { return features.HaveProgramType(ebpf.SchedCLS) }},
		{"ring buffers", func() error { return features.HaveMapType(ebpf.RingBuf) }},
		{"tables of tables", func() error { return features.HaveMapType(ebpf.ArrayOfMaps) }},
		{"loops (bpf_loop)", func() error { return features.HaveProgramHelper(ebpf.XDP, asm.FnLoop) }},
		{"reading of frames in parts (bpf_xdp_load_bytes)", func() error { return features.HaveProgramHelper(ebpf.XDP, asm.FnXdpLoadBytes) }},
		{"pointers of a length known at run time (bpf_ringbuf_reserve_dynptr)", func() error { return features.HaveProgramHelper(ebpf.XDP, asm.FnRingbufReserveDynptr) }},
	} {
		if errors.Is(f.have(), ebpf.ErrNotSupported) {
			list = append(list, f.name)
		}
	}
	return list
}

// IsNamedOurs tells programs of a gateway by their names, where no data plane is open. What it may not look at may be ours.
func IsNamedOurs(program uint32) bool {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(program))
	if err != nil {
		return true
	}
	defer p.Close()
	info, err := p.Info()
	return err != nil || strings.HasPrefix(info.Name, "gateway_")
}
