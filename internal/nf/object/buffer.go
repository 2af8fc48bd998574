package object

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// contextFields are where struct __sk_buff has what struct xdp_md has at an offset
// (linux/bpf.h). What a queue is called differs, and who sends is not known yet.
var contextFields = map[int16]int16{
	0:  76,  // data
	4:  80,  // data_end
	8:  140, // data_meta
	12: 40,  // ingress_ifindex: ifindex
	16: 12,  // rx_queue_index: queue_mapping
}

const (
	storeBytes      = "store_bytes"
	recomputeSum    = 1 // BPF_F_RECOMPUTE_CSUM
	lengthOfBuffer  = 0 // offset of len in struct __sk_buff
	firstOfOwnPlace = -1
	sizeOfContext   = 24 // of struct xdp_md, bytes
)

// forBuffers makes of a function for frames of XDP one for socket buffers: what it reads of
// its context, and the helpers that take it, have other names there. Each instruction has
// one in its place. reads is what follow says of list.
func forBuffers(list asm.Instructions, reads []places) (asm.Instructions, error) {
	made := make(asm.Instructions, 0, len(list)+3)
	stores := false
	for i, ins := range list {
		switch class := ins.OpCode.Class(); {
		case !reads[i].reached:
		case class == asm.LdXClass && reads[i].has(perhaps, ins.Src) && isField(&ins):
			return nil, fmt.Errorf("it reads its context from memory, where it is not followed: read the field before%s", where(list, i))
		case class == asm.LdXClass && reads[i].has(theContext, ins.Src):
			at, known := contextFields[ins.Offset]
			if !known {
				return nil, fmt.Errorf("it reads of its context what a socket buffer has not%s", where(list, i))
			}
			ins.Offset = at
		case ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnXdpGetBuffLen:
			ins = like(asm.LoadMem(asm.R0, asm.R1, lengthOfBuffer, asm.Word), ins)
		case ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnXdpLoadBytes:
			ins = like(asm.FnSkbLoadBytes.Call(), ins)
		case ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnXdpStoreBytes:
			ins, stores = like(asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Constant: firstOfOwnPlace}.WithReference(storeBytes), ins), true
		}
		if f := btf.FuncMetadata(&ins); f != nil && i > 0 {
			// A global function's context is checked by its type's name; it is none of a socket buffer's.
			local := *f
			local.Linkage = btf.StaticFunc
			ins = btf.WithFuncMetadata(ins, &local)
		}
		made = append(made, ins)
	}
	if stores {
		made = append(made, storing(&list[0])...)
	}
	return made, nil
}

// isField reports whether an instruction reads what may be a field of struct xdp_md.
func isField(ins *asm.Instruction) bool {
	return ins.OpCode.Size() == asm.Word && ins.Offset >= 0 && ins.Offset < sizeOfContext
}

// like gives an instruction the symbol and the source of the one whose place it takes.
func like(made, ins asm.Instruction) asm.Instruction {
	made = made.WithSource(ins.Source())
	if ins.Symbol() != "" {
		made = made.WithSymbol(ins.Symbol())
	}
	return made
}

// storing is a function that stores bytes in a socket buffer as bpf_xdp_store_bytes does in
// a frame; the helper takes one argument more. The kernel wants a line of the source for each function if it has one for
// any: it is that of the program.
func storing(program *asm.Instruction) asm.Instructions {
	first := asm.Mov.Imm(asm.R5, recomputeSum).WithSymbol(storeBytes).WithSource(program.Source())
	if btf.FuncMetadata(program) != nil {
		number := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
		first = btf.WithFuncMetadata(first, &btf.Func{Name: storeBytes, Type: &btf.FuncProto{Return: number}, Linkage: btf.StaticFunc})
	}
	return asm.Instructions{first, asm.FnSkbStoreBytes.Call(), asm.Return()}
}
