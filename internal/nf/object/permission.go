package object

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// helpers are those that a user's function may call. None ends the program, sends the
// packet elsewhere or changes its length: a chain goes on with every packet.
var helpers = []asm.BuiltinFunc{
	asm.FnMapLookupElem, asm.FnMapUpdateElem, asm.FnMapDeleteElem, asm.FnMapPushElem, asm.FnMapPopElem, asm.FnMapPeekElem,
	asm.FnMapLookupPercpuElem, asm.FnForEachMapElem, asm.FnLoop, asm.FnSpinLock, asm.FnSpinUnlock,
	asm.FnKtimeGetNs, asm.FnKtimeGetBootNs, asm.FnKtimeGetCoarseNs, asm.FnKtimeGetTaiNs, asm.FnJiffies64,
	asm.FnGetPrandomU32, asm.FnGetSmpProcessorId, asm.FnGetNumaNodeId,
	asm.FnTracePrintk, asm.FnSnprintf, asm.FnStrtol, asm.FnStrtoul, asm.FnStrncmp,
	asm.FnCsumDiff, asm.FnFibLookup, asm.FnCheckMtu, asm.FnXdpGetBuffLen, asm.FnXdpLoadBytes, asm.FnXdpStoreBytes,
	asm.FnPerfEventOutput, asm.FnRingbufOutput, asm.FnRingbufReserve, asm.FnRingbufSubmit, asm.FnRingbufDiscard, asm.FnRingbufQuery,
}

// permit refuses calls of what no function may call; followed is what follow says of list. What a function writes to is
// compared when it has been asked.
func permit(list asm.Instructions, followed []places, rewrite bool) error {
	for i, ins := range list {
		helper := asm.BuiltinFunc(ins.Constant)
		switch {
		case ins.IsKfuncCall():
			return fmt.Errorf("it calls %s of the kernel: functions may call helpers only%s", ins.Reference(), where(list, i))
		case !ins.IsBuiltinCall():
		case !slices.Contains(helpers, helper):
			return fmt.Errorf("it calls bpf_%s, which no function may%s", helperName(helper), where(list, i))
		case (helper == asm.FnMapLookupPercpuElem || helper == asm.FnForEachMapElem) && followed[i].has(ourMap, asm.R1):
			// The packet of another CPU; a callback has the map from there.
			return fmt.Errorf("it calls bpf_%s with nf_packets: nf_packet() has what is described%s", helperName(helper), where(list, i))
		case helper == asm.FnXdpStoreBytes && !rewrite:
			return fmt.Errorf("it changes the packet, which takes access: rewrite,%s", where(list, i))
		}
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
