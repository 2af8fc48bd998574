package object

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/realmgate/realmgate/internal/nf"
)

// kind is what is followed through a program.
type kind int

const (
	theContext kind = iota // the program's
	perhaps                // something from memory that may be the context
	ourMap                 // nf_packets
	kinds
)

// held are the registers, a bit each, and the slots of a function's stack that hold something.
type held struct {
	registers uint16
	slots     uint64
}

// places are what is where before an instruction, whichever way leads to it.
type places struct {
	of      [kinds]held
	reached bool
}

func (p *places) has(k kind, r asm.Register) bool { return p.of[k].registers>>r&1 == 1 }

func (p *places) set(k kind, r asm.Register, holds bool) {
	p.of[k].registers &^= 1 << r
	if holds {
		p.of[k].registers |= 1 << r
	}
}

const (
	slotBytes = 8
	mostStack = 64 * slotBytes
	arguments = 1<<asm.R6 - 1<<asm.R1
)

// follow finds which instructions read the program's context, so that they can be translated for socket buffers, and which
// use nf_packets: both are followed through registers, arguments and a function's own stack. The context that another function
// may have from there is told apart by its distance from the address that it is given.
func follow(list asm.Instructions) ([]places, error) {
	f := follower{
		list: list, places: make([]places, len(list)), at: map[int]int{}, functions: map[string]int{},
		owners: make([]int, len(list)), addresses: map[int][]int{},
	}
	owner, stack := 0, newFrame()
	for i := list.Iterate(); i.Next(); {
		if name := i.Ins.Symbol(); name != "" {
			owner, stack = i.Index, newFrame()
			f.functions[name] = owner
		}
		f.at[int(i.Offset)] = i.Index
		f.offsets = append(f.offsets, int(i.Offset))
		f.owners[i.Index] = owner
		if address := stack.address(i.Ins); address < 0 && address >= -mostStack && !slices.Contains(f.addresses[owner], address) {
			f.addresses[owner] = append(f.addresses[owner], address)
		}
	}
	f.flow(0, places{of: [kinds]held{theContext: {registers: 1 << asm.R1}}})
	for len(f.work) > 0 && f.err == nil {
		i := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		f.step(i)
	}
	return f.places, f.err
}

type follower struct {
	list      asm.Instructions
	places    []places
	at        map[int]int // instructions by their offsets
	offsets   []int
	owners    []int          // where the function of each begins
	functions map[string]int // where they begin, by name
	addresses map[int][]int  // that functions make of places in their stacks
	kept      [kinds][mostStack + 1]bool
	work      []int
	err       error
}

// flow notes one way that leads to an instruction.
func (f *follower) flow(to int, p places) {
	if to < 0 || to >= len(f.places) {
		return // the kernel refuses it
	}
	now := f.places[to]
	for k := range kinds {
		now.of[k].registers |= p.of[k].registers
		now.of[k].slots |= p.of[k].slots
	}
	now.reached = true
	if now != f.places[to] {
		f.places[to] = now
		f.work = append(f.work, to)
	}
}

// step follows an instruction to those that come after it.
func (f *follower) step(i int) {
	p, ins := f.places[i], &f.list[i]
	switch class := ins.OpCode.Class(); {
	case class.IsALU():
		moves := class == asm.ALU64Class && ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.RegSource
		for k := range kinds {
			p.set(k, ins.Dst, moves && p.has(k, ins.Src))
		}
	case class == asm.LdXClass:
		for k := range kinds {
			p.set(k, ins.Dst, ins.OpCode.Size() == asm.DWord && f.loads(&p, k, ins))
		}
	case class.IsStore():
		for k := range kinds {
			f.store(i, &p, k)
		}
	case !class.IsJump():
		for k := range kinds {
			p.set(k, ins.Dst, k == ourMap && ins.IsLoadFromMap() && nf.IsShared(ins.Reference()))
		}
		if place, known := f.functions[ins.Reference()]; known && ins.IsLoadOfFunctionPointer() {
			f.flow(place, places{}) // a helper calls it
		}
	case ins.OpCode.JumpOp() == asm.Exit:
		for k := range kinds {
			f.lose(i, k, p.has(k, asm.R0))
		}
		return
	case ins.OpCode.JumpOp() == asm.Call:
		into := places{}
		for k := range kinds {
			into.of[k].registers = p.of[k].registers & arguments
			p.of[k].registers &^= arguments | 1<<asm.R0
		}
		if place, known := f.functions[ins.Reference()]; known && ins.IsFunctionCall() {
			f.flow(place, into)
		}
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

// slotOf is the slot of its stack that an instruction reads or writes by the frame pointer.
func slotOf(ins *asm.Instruction) uint64 {
	if at := -int(ins.Offset); at > 0 && at <= mostStack {
		return 1 << ((at - 1) / slotBytes)
	}
	return 0
}

func (f *follower) loads(p *places, k kind, ins *asm.Instruction) bool {
	if ins.Src == asm.RFP {
		return p.of[k].slots&slotOf(ins) != 0
	}
	return ins.Offset >= 0 && ins.Offset <= mostStack && f.kept[k][ins.Offset]
}

func (f *follower) store(i int, p *places, k kind) {
	ins := &f.list[i]
	holds := ins.OpCode.Class() == asm.StXClass && ins.OpCode.Size() == asm.DWord && p.has(k, ins.Src)
	if ins.Dst != asm.RFP {
		f.lose(i, k, holds)
		return
	}
	p.of[k].slots &^= slotOf(ins)
	if !holds {
		return
	}
	p.of[k].slots |= slotOf(ins)
	if k == theContext {
		k = perhaps
	}
	for _, address := range f.addresses[f.owners[i]] {
		if from := int(ins.Offset) - address; from >= 0 && from <= mostStack && !f.kept[k][from] {
			f.kept[k][from] = true
			f.again()
		}
	}
}

// again looks at all instructions again: they may have from memory what they had not.
func (f *follower) again() {
	for i := range f.places {
		if f.places[i].reached {
			f.work = append(f.work, i)
		}
	}
}

// lose refuses what leaves something where it cannot be followed.
func (f *follower) lose(i int, k kind, lost bool) {
	if lost && f.err == nil {
		name := [kinds]string{"its context", "its context", "nf_packets"}[k]
		f.err = fmt.Errorf("it puts %s where that cannot be followed%s", name, where(f.list, i))
	}
}
