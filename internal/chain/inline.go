package chain

import (
	"cmp"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// mostStack is what a function may use: a chain's own place lies below.
const mostStack = 512 - ownStack

// take fills in the body of a function that is one program of its object.
func (p *piece) take(program *ebpf.ProgramSpec, shared Shared) (err error) {
	p.body, p.stack, err = inline(program.Instructions, func(name string) *ebpf.Map {
		return cmp.Or(p.maps[name], p.kept[name], shared.find(name))
	})
	return err
}

// inline takes a program's instructions for use within another: ends become jumps to
// what follows, and maps those that find returns. stack is how much of it they use.
func inline(instructions asm.Instructions, find func(name string) *ebpf.Map) (list asm.Instructions, stack int, err error) {
	var size int64 // in raw instructions
	for _, ins := range instructions {
		size += int64(ins.Width())
	}
	var at int64
	for _, ins := range instructions {
		at += int64(ins.Width())
		plain := asm.Instruction{OpCode: ins.OpCode, Dst: ins.Dst, Src: ins.Src, Offset: ins.Offset, Constant: ins.Constant}
		switch {
		case ins.IsFunctionCall() || ins.IsFunctionReference():
			return nil, 0, fmt.Errorf("it calls %s: everything in a function must be inlined", ins.Reference())
		case ins.OpCode.JumpOp() == asm.Exit:
			plain = asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja), Offset: int16(size - at)}
			if size-at > 1<<15-1 {
				return nil, 0, fmt.Errorf("it has %d instructions: at most %d", size, 1<<15-1)
			}
		case ins.IsLoadFromMap() || ins.Reference() != "" && ins.IsConstantLoad(asm.DWord):
			m := find(ins.Reference())
			if m == nil {
				return nil, 0, fmt.Errorf("it has no map %q", ins.Reference())
			}
			if err := plain.AssociateMap(m); err != nil {
				return nil, 0, fmt.Errorf("use map %s: %w", ins.Reference(), err)
			}
		}
		stack = max(stack, deepest(ins))
		list = append(list, plain)
	}
	if stack > mostStack {
		return nil, 0, fmt.Errorf("it uses %d bytes of stack: at most %d", stack, mostStack)
	}
	return list, stack, nil
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
