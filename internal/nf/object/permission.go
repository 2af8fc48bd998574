package object

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// helper is what a helper of the kernel does that a user's function may call.
type helper struct {
	arguments int
	writes    uint8 // a bit for each argument that points to what it writes
	calls     bool  // functions of the program
	rewrites  bool  // the packet
}

// helpers are those that a user's function may call. None ends the program, sends the
// packet elsewhere or changes its length: a chain goes on with every packet.
var helpers = map[asm.BuiltinFunc]helper{
	asm.FnMapLookupElem: {arguments: 2}, asm.FnMapUpdateElem: {arguments: 4}, asm.FnMapDeleteElem: {arguments: 2},
	asm.FnMapPushElem: {arguments: 3}, asm.FnMapPopElem: {arguments: 2, writes: 1 << 1}, asm.FnMapPeekElem: {arguments: 2, writes: 1 << 1},
	asm.FnMapLookupPercpuElem: {arguments: 3}, asm.FnForEachMapElem: {arguments: 4, calls: true}, asm.FnLoop: {arguments: 4, calls: true},
	asm.FnSpinLock: {arguments: 1}, asm.FnSpinUnlock: {arguments: 1},
	asm.FnKtimeGetNs: {}, asm.FnKtimeGetBootNs: {}, asm.FnKtimeGetCoarseNs: {}, asm.FnKtimeGetTaiNs: {}, asm.FnJiffies64: {},
	asm.FnGetPrandomU32: {}, asm.FnGetSmpProcessorId: {}, asm.FnGetNumaNodeId: {},
	asm.FnTracePrintk: {arguments: 5}, asm.FnSnprintf: {arguments: 5, writes: 1 << 0},
	asm.FnStrtol: {arguments: 4, writes: 1 << 3}, asm.FnStrtoul: {arguments: 4, writes: 1 << 3}, asm.FnStrncmp: {arguments: 3},
	asm.FnCsumDiff: {arguments: 5}, asm.FnFibLookup: {arguments: 4, writes: 1 << 1}, asm.FnCheckMtu: {arguments: 5, writes: 1 << 2},
	asm.FnXdpGetBuffLen: {arguments: 1}, asm.FnXdpLoadBytes: {arguments: 4, writes: 1 << 2},
	asm.FnXdpStoreBytes:   {arguments: 4, rewrites: true},
	asm.FnPerfEventOutput: {arguments: 5},
	asm.FnRingbufOutput:   {arguments: 4},
	asm.FnRingbufReserve:  {arguments: 3},
	asm.FnRingbufSubmit:   {arguments: 2},
	asm.FnRingbufDiscard:  {arguments: 2},
	asm.FnRingbufQuery:    {arguments: 2},
}

var (
	errRewrites = errors.New("it changes the packet")
	errOurs     = errors.New("it changes what the gateway says of the packet (nf_packets, nf_counts)")
)

// permit checks that a function does only what users' functions may, and changes the
// packet only if it may rewrite. It is sure of that, and refuses what it cannot tell.
func permit(list asm.Instructions, states []state, rewrite bool) error {
	for i, s := range states {
		if !s.reached {
			continue
		}
		err := does(&list[i], &s)
		switch {
		case errors.Is(err, errRewrites) && rewrite:
		case errors.Is(err, errRewrites):
			return fmt.Errorf("%w, which takes may: rewrite,%s", err, where(list, i))
		case err != nil:
			return fmt.Errorf("%w%s", err, where(list, i))
		}
	}
	return nil
}

// does is what an instruction does that functions may not, or not all.
func does(ins *asm.Instruction, s *state) error {
	switch {
	case ins.OpCode.Class().IsStore() && (!isAtomic(ins) || ins.OpCode.AtomicOp() != loadAcquire):
		return writes(s.registers[ins.Dst])
	case ins.IsKfuncCall():
		return fmt.Errorf("it calls %s of the kernel: functions may call helpers only", ins.Reference())
	case ins.IsBuiltinCall():
		return s.calls(asm.BuiltinFunc(ins.Constant))
	}
	return nil
}

// writes is what it means to write to where a register points.
func writes(to value) error {
	switch {
	case to.holds&ourValue != 0:
		return errOurs
	case to.holds&aPacket != 0:
		return errRewrites
	}
	return nil
}

// calls is what it means to call a helper.
func (s *state) calls(function asm.BuiltinFunc) error {
	h, known := helpers[function]
	switch {
	case !known:
		return fmt.Errorf("it calls bpf_%s, which no function may", helperName(function))
	case h.rewrites:
		return errRewrites
	}
	for i, a := range s.registers[asm.R1:][:h.arguments] {
		if h.writes&(1<<i) == 0 {
			continue
		}
		if err := writes(a); err != nil {
			return err
		}
	}
	if s.registers[asm.R1].holds&ourMap != 0 && h.arguments > 0 && function != asm.FnMapLookupElem {
		return errOurs
	}
	return nil
}

// helperName is a helper's name as C has it, without bpf_.
func helperName(function asm.BuiltinFunc) string {
	var name strings.Builder
	for i, r := range strings.TrimPrefix(function.String(), "Fn") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteString(strings.ToLower(string(r)))
	}
	return name.String()
}

// where is the source line of an instruction, or else its place.
func where(list asm.Instructions, i int) string {
	for ; i >= 0; i-- {
		if line, ok := list[i].Source().(*btf.Line); ok {
			return fmt.Sprintf(" at %s:%d: %s", filepath.Base(line.FileName()), line.LineNumber(), strings.TrimSpace(line.Line()))
		}
		if list[i].Symbol() != "" {
			break
		}
	}
	return ""
}
