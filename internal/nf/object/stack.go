package object

import "github.com/cilium/ebpf/asm"

// frame is where in a function's stack registers point.
type frame struct {
	known uint16 // a bit for each
	at    [asm.R10 + 1]int
}

func newFrame() frame { return frame{known: 1 << asm.R10} }

// address is the place that an instruction makes the address of, from the end of the stack; 0 where it makes none.
func (f *frame) address(ins *asm.Instruction) int {
	class := ins.OpCode.Class()
	if class.IsALU() || class.IsLoad() {
		wide, op, registers := class == asm.ALU64Class, ins.OpCode.ALUOp(), ins.OpCode.Source() == asm.RegSource
		switch {
		case wide && op == asm.Mov && registers && f.known>>ins.Src&1 == 1:
			f.known |= 1 << ins.Dst
			f.at[ins.Dst] = f.at[ins.Src]
			return f.at[ins.Dst]
		case wide && op == asm.Add && !registers && f.known>>ins.Dst&1 == 1:
			f.at[ins.Dst] += int(ins.Constant)
			return f.at[ins.Dst]
		}
		f.known &^= 1 << ins.Dst
	}
	return 0
}

// stackOf is how much of its stack a function uses: what lies below the frame pointer, and below copies of it. What it
// misses lies over the chain's own, and is the kernel's to refuse.
func stackOf(list asm.Instructions) (bytes int) {
	f := newFrame()
	for i := range list {
		ins := &list[i]
		switch class := ins.OpCode.Class(); {
		case class.IsLoad() && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
			bytes = max(bytes, -int(ins.Offset))
		}
		bytes = max(bytes, -f.address(ins))
	}
	return bytes
}
