package object

import "github.com/cilium/ebpf/asm"

// holds is what a register or a place of the stack may hold, of what matters here.
type holds uint8

const (
	other      holds = 1 << iota // a number, or a pointer that does not matter
	theContext                   // of the program
	aPacket                      // an address in the packet
	aStack                       // an address in a stack
	ourMap                       // a map that functions and gateway share
	ourValue                     // an address in such a map
	anything   = 1<<iota - 1
)

// value is what a register holds; at is where in the function's own stack.
type value struct {
	holds
	at int32
}

const (
	nowhere = 1 // no place that is known: a stack ends at 0
	slots   = 64
)

// either is what is one or the other.
func either(a, b value) value {
	switch {
	case a.holds&aStack == 0:
		a.at = b.at
	case b.holds&aStack != 0 && a.at != b.at:
		a.at = nowhere
	}
	return value{a.holds | b.holds, a.at}
}

// slot is the place of the stack that an access is to, if that is known.
func (v value) slot(offset int16) (int, bool) {
	at := v.at + int32(offset)
	return int(at+8*slots) / 8, v.holds == aStack && v.at != nowhere && at < 0 && at >= -8*slots
}

// compute is what an instruction leaves that reckons. A pointer and a number make a
// pointer; of pointers there is only a difference, and that is a number.
func compute(ins *asm.Instruction, s *state) value {
	a, b, distance := s.registers[ins.Dst], value{other, nowhere}, int64(nowhere)
	if ins.OpCode.Source() == asm.RegSource {
		b = s.registers[ins.Src]
	} else {
		distance = ins.Constant
	}
	op := ins.OpCode.ALUOp()
	switch {
	case ins.OpCode.Class() == asm.ALUClass: // half a pointer is none
		return value{other, nowhere}
	case op == asm.Mov:
		return b
	case op != asm.Add && op != asm.Sub, op == asm.Sub && b.holds&other == 0:
		return value{other, nowhere}
	case (a.holds|b.holds)&theContext != 0:
		return value{anything, nowhere}
	}
	result := value{a.holds, nowhere}
	if op == asm.Add {
		result.holds |= b.holds
		if a.holds&other == 0 || b.holds&other == 0 {
			result.holds &^= other
		}
	} else {
		distance = -distance
	}
	if a.at != nowhere && ins.OpCode.Source() == asm.ImmSource && a.holds == aStack && int64(a.at)+distance <= 0 && distance > -1<<16 {
		result.at = a.at + int32(distance)
	}
	return result
}

// stackOf is how much of its stack a function uses, by the addresses that it makes.
func stackOf(list asm.Instructions, states []state) (bytes int) {
	for i, ins := range list {
		for r, v := range states[i].registers {
			if v.holds&aStack == 0 || v.at == nowhere {
				continue
			}
			bytes = max(bytes, -int(v.at))
			if class := ins.OpCode.Class(); class.IsLoad() && int(ins.Src) == r || class.IsStore() && int(ins.Dst) == r {
				bytes = max(bytes, -int(v.at)-int(ins.Offset))
			}
		}
	}
	return bytes
}
