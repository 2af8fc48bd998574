package chain

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// What a chain keeps at the bottom of its stack, below that of any function.
const (
	contextSlot  = -512 // the program's context, 8 bytes
	functionSlot = -504 // number of the function that is asked, 4 bytes
	zeroSlot     = -500 // 4 bytes
	mostStack    = 496  // of a function
)

// Labels of a chain's program.
const (
	endLabel   = "end"
	goneLabel  = "gone"
	afterLabel = "after"
)

// part is a function of a chain: what is inlined, and its number in nf_counts.
type part struct {
	number uint32
	body   asm.Instructions
}

// inline takes a program's instructions for use within another: ends become jumps to
// what follows, and maps those that find returns.
func inline(instructions asm.Instructions, find func(name string) *ebpf.Map) (asm.Instructions, error) {
	var size int64 // in raw instructions
	for _, ins := range instructions {
		size += int64(ins.Width())
	}
	list := make(asm.Instructions, 0, len(instructions))
	var at int64
	for _, ins := range instructions {
		at += int64(ins.Width())
		plain := asm.Instruction{OpCode: ins.OpCode, Dst: ins.Dst, Src: ins.Src, Offset: ins.Offset, Constant: ins.Constant}
		switch {
		case ins.IsFunctionCall() || ins.IsFunctionReference():
			return nil, fmt.Errorf("it calls %s: everything in a function must be inlined", ins.Reference())
		case ins.OpCode.JumpOp() == asm.Exit:
			plain = asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja), Offset: int16(size - at)}
			if size-at > 1<<15-1 {
				return nil, fmt.Errorf("it has %d instructions: at most %d", size, 1<<15-1)
			}
		case ins.IsLoadFromMap() || ins.Reference() != "" && ins.IsConstantLoad(asm.DWord):
			m := find(ins.Reference())
			if m == nil {
				return nil, fmt.Errorf("it has no map %q", ins.Reference())
			}
			if err := plain.AssociateMap(m); err != nil {
				return nil, fmt.Errorf("use map %s: %w", ins.Reference(), err)
			}
		}
		if deep := deepest(ins); deep > mostStack {
			return nil, fmt.Errorf("it uses %d bytes of stack: at most %d", deep, mostStack)
		}
		list = append(list, plain)
	}
	return list, nil
}

// deepest is how far below the frame pointer an instruction reaches, or may make
// another reach.
func deepest(ins asm.Instruction) int {
	switch class := ins.OpCode.Class(); {
	case class.IsLoad() && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
		return -int(ins.Offset)
	case class.IsALU() && ins.OpCode.ALUOp() == asm.Add && ins.Constant < 0 && ins.OpCode.Source() == asm.ImmSource:
		return int(-ins.Constant)
	}
	return 0
}

// splice makes one program of a chain's functions, in their order. The first that does
// not say "continue" decides; where none does the packet is accepted.
func splice(parts []part, shared Shared) (asm.Instructions, error) {
	var list asm.Instructions
	var failed error
	mapOf := func(dst asm.Register, m *ebpf.Map) asm.Instruction {
		ins := asm.LoadMapPtr(dst, 0)
		if err := ins.AssociateMap(m); err != nil && failed == nil {
			failed = err
		}
		return ins
	}
	list = append(list, asm.StoreMem(asm.RFP, contextSlot, asm.R1, asm.DWord))
	for i, p := range parts {
		after := fmt.Sprintf("%s-%d", afterLabel, i)
		list = append(list,
			asm.StoreImm(asm.RFP, functionSlot, int64(p.number), asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, functionSlot), mapOf(asm.R1, shared.Counts), asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, after),
			asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
			asm.LoadMem(asm.R1, asm.RFP, contextSlot, asm.DWord).WithSymbol(after))
		list = append(list, p.body...)
		list = append(list, asm.JNE.Imm(asm.R0, int32(classifierNfVerdictNF_CONTINUE), endLabel))
	}
	list = append(list,
		asm.Mov.Imm(asm.R0, int32(classifierNfVerdictNF_ACCEPT)),
		asm.StoreImm(asm.RFP, functionSlot, 0, asm.Word),

		asm.Mov.Reg(asm.R6, asm.R0).WithSymbol(endLabel),
		asm.StoreImm(asm.RFP, zeroSlot, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, zeroSlot), mapOf(asm.R1, shared.Packets), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, goneLabel),
		asm.StoreMem(asm.R0, packetVerdict, asm.R6, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, functionSlot, asm.Word), asm.StoreMem(asm.R0, packetFunction, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, contextSlot, asm.DWord), mapOf(asm.R2, shared.Programs),
		asm.Mov.Imm(asm.R3, int32(classifierProgramPROGRAM_AGAIN)), asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, xdpDrop).WithSymbol(goneLabel), asm.Return())
	return list, failed
}
