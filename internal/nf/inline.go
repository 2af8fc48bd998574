package nf

import (
	"cmp"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

const (
	// mostStack is what a function may use: a chain's own place lies below.
	mostStack = 512 - ownStack
	// MostInstructions is what a jump reaches over, with what a chain adds.
	MostInstructions = 1<<15 - 256
)

// find returns the map that a function knows by that name.
func (p *Compiled) find(name string, shared Shared) *ebpf.Map {
	return cmp.Or(p.Maps[name], p.Kept[name], shared.find(name))
}

// TakeBoth is Take of a function that looks at the packet itself, and is compiled for
// socket buffers, too.
func (p *Compiled) TakeBoth(program, buffer *ebpf.ProgramSpec, c Context) error {
	if err := p.Take(buffer, c); err != nil {
		return err
	}
	p.buffer = p.body
	return p.Take(program, c)
}

// Take fills in the body of a function that is one program of its object.
func (p *Compiled) Take(program *ebpf.ProgramSpec, c Context) (err error) {
	for _, ins := range program.Instructions {
		if ins.IsFunctionReference() {
			return fmt.Errorf("it calls %s: everything in a function must be inlined", ins.Reference())
		}
	}
	for _, ins := range program.Instructions {
		p.stack = max(p.stack, deepest(ins))
	}
	p.body, err = inline(program.Instructions, p.stack, func(ins asm.Instruction) (asm.Instruction, error) { return p.link(ins, c.Shared) })
	return err
}

// inline takes a program's instructions for use within another, each as link makes it:
// ends become jumps to what follows. stack is how much of it they use.
func inline(instructions asm.Instructions, stack int, link func(asm.Instruction) (asm.Instruction, error)) (list asm.Instructions, err error) {
	if stack > mostStack {
		return nil, fmt.Errorf("it uses %d bytes of stack: at most %d", stack, mostStack)
	}
	var size, at int64 // in raw instructions
	for _, ins := range instructions {
		size += int64(ins.Width())
	}
	if size > MostInstructions {
		return nil, fmt.Errorf("it has %d instructions: at most %d", size, MostInstructions)
	}
	for _, ins := range instructions {
		at += int64(ins.Width())
		made, err := link(ins)
		if err != nil {
			return nil, err
		}
		if ins.OpCode.JumpOp() == asm.Exit {
			made.OpCode, made.Offset = asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja), int16(size-at)
		}
		list = append(list, made)
	}
	return list, nil
}

// link is an instruction alone, with the map that it names.
func (p *Compiled) link(ins asm.Instruction, shared Shared) (asm.Instruction, error) {
	plain := asm.Instruction{OpCode: ins.OpCode, Dst: ins.Dst, Src: ins.Src, Offset: ins.Offset, Constant: ins.Constant}
	if !ins.IsLoadFromMap() && (ins.Reference() == "" || !ins.IsConstantLoad(asm.DWord)) {
		return plain, nil
	}
	m := p.find(ins.Reference(), shared)
	if m == nil {
		return plain, fmt.Errorf("it has no map %q", ins.Reference())
	}
	if err := plain.AssociateMap(m); err != nil {
		return plain, fmt.Errorf("use map %s: %w", ins.Reference(), err)
	}
	return plain, nil
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
