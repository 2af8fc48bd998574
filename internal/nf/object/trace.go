package object

import (
	"github.com/cilium/ebpf/asm"

	"github.com/realmgate/realmgate/internal/nf"
)

// state is what holds before an instruction, whichever way leads to it.
type state struct {
	reached   bool
	registers [asm.R10 + 1]value
	stack     [slots]holds
}

// tracer finds out what each instruction of a program may meet, as the verifier types
// it. What is stored nobody knows where may be anywhere in any stack, and who reads
// nobody knows where may meet all that is stored in any.
type tracer struct {
	list      asm.Instructions
	places    map[int]int // of instructions in list, by their offsets
	offsets   []int
	owners    []int          // where the function of each begins
	functions map[string]int // where they begin
	states    []state
	work      []int

	// What is known of the whole program; more means to look at all again.
	more    bool
	loose   holds         // stored nobody knows where
	spilled holds         // stored in any stack
	returns map[int]holds // by function
	called  map[int]bool  // functions that helpers call
	passed  holds         // to these
}

// trace returns what each instruction may meet. The program is the first function.
func trace(list asm.Instructions) []state {
	t := &tracer{
		list: list, places: map[int]int{}, functions: map[string]int{}, states: make([]state, len(list)),
		returns: map[int]holds{}, called: map[int]bool{},
	}
	owner := 0
	for i := list.Iterate(); i.Next(); {
		if name := i.Ins.Symbol(); name != "" {
			owner = i.Index
			t.functions[name] = owner
		}
		t.places[int(i.Offset)] = i.Index
		t.offsets, t.owners = append(t.offsets, int(i.Offset)), append(t.owners, owner)
	}
	t.enter(0, [5]value{{holds: theContext}})
	for t.more = true; t.more; {
		t.more = false
		for i, s := range t.states {
			if s.reached {
				t.work = append(t.work, i)
			}
		}
		for len(t.work) > 0 {
			last := len(t.work) - 1
			i := t.work[last]
			t.work = t.work[:last]
			t.step(i)
		}
	}
	return t.states
}

// learn adds to what is known of the whole program.
func (t *tracer) learn(known *holds, also holds) {
	if *known|also != *known {
		*known |= also
		t.more = true
	}
}

// enter begins a function with these arguments.
func (t *tracer) enter(place int, arguments [5]value) {
	s := state{}
	for i := range s.registers {
		s.registers[i].holds = other
	}
	for i, a := range arguments {
		s.registers[int(asm.R1)+i] = value{max(a.holds, other), nowhere} // another's stack is nowhere
	}
	s.registers[asm.R10] = value{aStack, 0}
	t.flow(place, &s)
}

// flow notes one way that leads to an instruction.
func (t *tracer) flow(place int, s *state) {
	if place < 0 || place >= len(t.states) {
		return // the verifier refuses it
	}
	to := &t.states[place]
	before := *to
	if !to.reached {
		*to, to.reached = *s, true
	} else {
		for i, v := range s.registers {
			to.registers[i] = either(to.registers[i], v)
		}
		for i, h := range s.stack {
			to.stack[i] |= h
		}
	}
	if *to != before {
		t.work = append(t.work, place)
	}
}

// jump is flow to an instruction so many instructions after the next.
func (t *tracer) jump(from int, distance int64, s *state) {
	if place, known := t.places[t.offsets[from]+1+int(distance)]; known {
		t.flow(place, s)
	}
}

// step follows an instruction to those that come after it.
func (t *tracer) step(i int) {
	s := t.states[i]
	ins := &t.list[i]
	switch class := ins.OpCode.Class(); {
	case class.IsALU():
		s.registers[ins.Dst] = compute(ins, &s)
	case class == asm.LdXClass:
		s.registers[ins.Dst] = t.load(&s, ins.Src, ins.Offset, ins.OpCode.Size())
	case class.IsStore():
		t.store(ins, &s)
	case !class.IsJump():
		s.registers[ins.Dst] = t.constant(ins)
	case ins.OpCode.JumpOp() == asm.Exit:
		known := t.returns[t.owners[i]]
		t.learn(&known, s.registers[asm.R0].holds)
		t.returns[t.owners[i]] = known
		return
	case ins.OpCode.JumpOp() == asm.Call:
		t.call(ins, &s)
	case ins.OpCode.JumpOp() == asm.Ja && class == asm.Jump32Class:
		t.jump(i, ins.Constant, &s)
		return
	default:
		t.jump(i, int64(ins.Offset), &s)
		if ins.OpCode.JumpOp() == asm.Ja {
			return
		}
	}
	t.flow(i+1, &s)
}

func (t *tracer) constant(ins *asm.Instruction) value {
	switch place, known := t.functions[ins.Reference()]; {
	case ins.IsLoadOfFunctionPointer() && known && !t.called[place]:
		t.called[place], t.more = true, true
	case ins.IsLoadFromMap() && nf.IsShared(ins.Reference()):
		return value{ourMap | ourValue, nowhere}
	}
	return value{other, nowhere}
}

// load is what a read of memory leaves.
func (t *tracer) load(s *state, from asm.Register, offset int16, size asm.Size) value {
	base := s.registers[from]
	result := value{at: nowhere}
	if base.holds&^(theContext|aStack) != 0 || size != asm.DWord {
		result.holds = other
	}
	if base.holds&theContext != 0 {
		const ends = 12 // data, data_end and data_meta of struct xdp_md
		switch {
		case offset >= ends && base.holds == theContext:
			result.holds |= other
		case base.holds == theContext:
			result.holds = aPacket
		default:
			result.holds |= aPacket | other
		}
	}
	if base.holds&aStack != 0 && size == asm.DWord {
		if slot, known := base.slot(offset); known {
			result.holds |= s.stack[slot] | t.loose
		} else {
			result.holds |= t.spilled | t.loose | other
		}
	}
	if result.holds == 0 {
		result.holds = other
	}
	return result
}

const (
	loadAcquire  = asm.AtomicOp(0x1_0000)
	storeRelease = asm.AtomicOp(0x1_1000)
)

func isAtomic(ins *asm.Instruction) bool {
	return ins.OpCode.Class() == asm.StXClass && ins.OpCode.Mode() == asm.AtomicMode
}

// store notes what an instruction leaves in the stack, and what an atomic one fetches.
func (t *tracer) store(ins *asm.Instruction, s *state) {
	size, stored, whole := ins.OpCode.Size(), other, ins.OpCode.Size() == asm.DWord
	if ins.OpCode.Class() == asm.StXClass && size == asm.DWord {
		stored = s.registers[ins.Src].holds
	}
	if isAtomic(ins) {
		switch op := ins.OpCode.AtomicOp(); op {
		case loadAcquire:
			s.registers[ins.Dst] = t.load(s, ins.Src, ins.Offset, size)
			return
		case storeRelease:
		default: // the value may go either way
			fetched := either(t.load(s, ins.Dst, ins.Offset, size), value{other, nowhere})
			s.registers[ins.Src] = either(s.registers[ins.Src], fetched)
			s.registers[asm.R0] = either(s.registers[asm.R0], fetched)
			stored, whole = stored|other, false
		}
	}
	base := s.registers[ins.Dst]
	if base.holds&aStack == 0 {
		return
	}
	slot, known := base.slot(ins.Offset)
	switch {
	case !known:
		t.learn(&t.loose, stored)
		return
	case whole:
		s.stack[slot] = stored
	default:
		s.stack[slot] |= stored
	}
	t.learn(&t.spilled, stored)
}

// call follows a call of a helper or of a function.
func (t *tracer) call(ins *asm.Instruction, s *state) {
	result := value{other, nowhere}
	var arguments [5]value
	copy(arguments[:], s.registers[asm.R1:asm.R6])
	if place, known := t.functions[ins.Reference()]; ins.IsFunctionCall() && known {
		t.enter(place, arguments)
		result.holds = t.returns[place]
	} else if ins.IsBuiltinCall() {
		h := helpers[asm.BuiltinFunc(ins.Constant)]
		for i, a := range arguments[:h.arguments] {
			if h.writes&(1<<i) != 0 && a.holds&aStack != 0 {
				t.learn(&t.loose, other)
			}
			if h.calls {
				t.learn(&t.passed, a.holds)
			}
		}
		if h.calls {
			t.enterCalled()
		}
		if arguments[0].holds&ourMap != 0 {
			result.holds |= ourValue
		}
	}
	for r := asm.R1; r <= asm.R5; r++ {
		s.registers[r] = value{other, nowhere}
	}
	s.registers[asm.R0] = result
}

// enterCalled begins every function that a helper may call, with all that any gets.
func (t *tracer) enterCalled() {
	got := value{t.passed | other, nowhere}
	for place := range t.called {
		t.enter(place, [5]value{got, got, got, got, got})
	}
}
