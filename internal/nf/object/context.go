package object

import "github.com/cilium/ebpf/asm"

// places are registers, a bit each, and slots of a function's stack that have the program's context.
type places struct {
	registers uint16
	slots     uint64
	reached   bool
}

const slotBytes = 8

// contexts finds which instructions read the program's context, so that they can be translated for socket buffers: the context
// is followed through registers, arguments and a function's own stack. What it misses reads a socket buffer as a frame, and is
// the kernel's to refuse.
func contexts(list asm.Instructions) []places {
	f := follower{list: list, places: make([]places, len(list)), at: map[int]int{}, functions: map[string]int{}}
	for i := list.Iterate(); i.Next(); {
		if name := i.Ins.Symbol(); name != "" {
			f.functions[name] = i.Index
		}
		f.at[int(i.Offset)] = i.Index
		f.offsets = append(f.offsets, int(i.Offset))
	}
	f.flow(0, places{registers: 1 << asm.R1})
	for len(f.work) > 0 {
		i := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		f.step(i)
	}
	return f.places
}

type follower struct {
	list      asm.Instructions
	places    []places
	at        map[int]int // instructions by their offsets
	offsets   []int
	functions map[string]int // where they begin
	work      []int
}

// flow notes one way that leads to an instruction.
func (f *follower) flow(to int, p places) {
	if to < 0 || to >= len(f.places) {
		return // the kernel refuses it
	}
	now := f.places[to]
	now.registers, now.slots, now.reached = now.registers|p.registers, now.slots|p.slots, true
	if now != f.places[to] {
		f.places[to] = now
		f.work = append(f.work, to)
	}
}

// step follows an instruction to those that come after it.
func (f *follower) step(i int) {
	p, ins := f.places[i], &f.list[i]
	has := func(r asm.Register) bool { return p.registers>>r&1 == 1 }
	set := func(r asm.Register, context bool) {
		p.registers &^= 1 << r
		if context {
			p.registers |= 1 << r
		}
	}
	slot := uint64(0)
	if at := -int(ins.Offset); at > 0 && at <= 64*slotBytes {
		slot = 1 << ((at - 1) / slotBytes)
	}
	switch class := ins.OpCode.Class(); {
	case class.IsALU():
		op := ins.OpCode.ALUOp()
		set(ins.Dst, class == asm.ALU64Class && op == asm.Mov && ins.OpCode.Source() == asm.RegSource && has(ins.Src))
	case class == asm.LdXClass:
		set(ins.Dst, ins.Src == asm.RFP && ins.OpCode.Size() == asm.DWord && p.slots&slot != 0)
	case class.IsStore():
		if ins.Dst == asm.RFP {
			p.slots &^= slot
			if class == asm.StXClass && ins.OpCode.Size() == asm.DWord && has(ins.Src) {
				p.slots |= slot
			}
		}
	case !class.IsJump():
		set(ins.Dst, false)
	case ins.OpCode.JumpOp() == asm.Exit:
		return
	case ins.OpCode.JumpOp() == asm.Call:
		if place, known := f.functions[ins.Reference()]; ins.IsFunctionCall() && known {
			f.flow(place, places{registers: p.registers & (1<<asm.R6 - 1<<asm.R1)})
		}
		p.registers &^= 1<<asm.R6 - 1 // R0 and the arguments
	default:
		distance := int64(ins.Offset)
		if ins.OpCode.JumpOp() == asm.Ja && class == asm.Jump32Class {
			distance = ins.Constant
		}
		if to, known := f.at[f.offsets[i]+1+int(distance)]; known {
			f.flow(to, p)
		}
		if ins.OpCode.JumpOp() == asm.Ja {
			return
		}
	}
	f.flow(i+1, p)
}

// stackOf is how much of its stack a function uses: what lies below the frame pointer, and below copies of it. What it
// misses lies over the chain's own, and is the kernel's to refuse.
func stackOf(list asm.Instructions) (bytes int) {
	copies := uint16(0)
	for _, ins := range list {
		switch class := ins.OpCode.Class(); {
		case class.IsLoad() && ins.Src == asm.RFP, class.IsStore() && ins.Dst == asm.RFP:
			bytes = max(bytes, -int(ins.Offset))
		case class == asm.ALU64Class && ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.RegSource && ins.Src == asm.RFP:
			copies |= 1 << ins.Dst
			continue
		case class == asm.ALU64Class && ins.OpCode.ALUOp() == asm.Add && ins.OpCode.Source() == asm.ImmSource && copies>>ins.Dst&1 == 1:
			bytes = max(bytes, -int(ins.Constant))
			continue
		}
		if class := ins.OpCode.Class(); class.IsALU() || class.IsLoad() {
			copies &^= 1 << ins.Dst
		}
	}
	return bytes
}
