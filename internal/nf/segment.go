package nf

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

const (
	// What a chain's program returns (enum said): it said something, or could not.
	saidNothing = 0
	saidPass    = 2
	ownStack    = 32
	// doneShift is where the second half of a further is in its word.
	doneShift = 16
	// sampleMask: one in so many questions to a function is timed, the first among them.
	sampleMask = 1<<10 - 1
)

// Where a chain's program leaves what it said, and what it counts.
const (
	packetVerdict  = int16(unsafe.Offsetof(Packet{}.Verdict))
	packetFunction = int16(unsafe.Offsetof(Packet{}.Function))
	packetProgram  = int16(unsafe.Offsetof(Packet{}.PacketProgram))
	packetPayload  = int16(unsafe.Offsetof(Packet{}.Payload))
	packetChanged  = int16(unsafe.Offsetof(Packet{}.Changed))
	countSeen      = int16(unsafe.Offsetof(classifierNfCount{}.Seen))
	countFailed    = int16(unsafe.Offsetof(classifierNfCount{}.Failed))
	countSamples   = int16(unsafe.Offsetof(classifierNfCount{}.Samples))
	countNs        = int16(unsafe.Offsetof(classifierNfCount{}.Ns))
	sizeOfCount    = int16(unsafe.Sizeof(classifierNfCount{}))

	traceCount    = int16(unsafe.Offsetof(classifierTrace{}.Count))
	traceStep     = int16(unsafe.Offsetof(classifierTrace{}.Step))
	traceKind     = int16(unsafe.Offsetof(classifierTraceStep{}.Kind))
	traceSays     = int16(unsafe.Offsetof(classifierTraceStep{}.Says))
	traceNumber   = int16(unsafe.Offsetof(classifierTraceStep{}.Number))
	traceChain    = int64(classifierTraceKindTRACE_CHAIN)
	traceFunction = int64(classifierTraceKindTRACE_FUNCTION)
)

// link is a function at its place in a row of functions that a program asks.
type link struct {
	step    *Step
	piece   *Piece
	packets further  // what judges the flow's further packets, if this one decides
	jumps   []uint32 // programs that it may go on in
	enters  int      // the place of the chain that begins with it, from 1 on; 0: it is not the first
}

// further is what judges the further packets of a flow (nf->packet_program, bpf/path/chain.h):
// while functions wait for its first bytes, and when these have been judged.
type further struct{ waiting, done uint32 }

// word is what a program keeps of it: both halves in a program where they may differ.
func (f further) word(differ bool) int64 {
	if !differ {
		return int64(f.waiting)
	}
	return int64(f.done)<<doneShift | int64(f.waiting)
}

// segment writes one program: the functions of links, in their order. The first that
// decides has the last word; where none does the packet goes on in program next, or
// without one is accepted, and packets is the program for its flow's further ones.
type segment struct {
	shared  Shared
	hook    *hook
	capture Piece // what copies a packet
	list    asm.Instructions
	label   string // of the next instruction
	context int16  // where the program's context lies, 8 bytes
	counts  int16  // where all functions are counted, 8 bytes
	start   int16  // when the function was asked that is timed, 8 bytes; at the end the verdict
	decider int16  // the number of the function that decided, 4 bytes
	packets int16  // what judges the flow's further packets, 4 bytes
	differ  bool   // and that may depend on whether first bytes have been judged
	failed  error
}

func newSegment(links []link, capture Piece, shared Shared, h *hook) *segment {
	deep := capture.stack
	for _, l := range links {
		deep = max(deep, l.piece.stack)
	}
	bottom := int16(-((deep + 7) &^ 7))
	return &segment{
		shared: shared, hook: h, capture: capture,
		context: bottom - 8, counts: bottom - 16, start: bottom - 24, decider: bottom - 28, packets: bottom - 32,
	}
}

func (s *segment) add(list ...asm.Instruction) {
	if s.label != "" && len(list) > 0 {
		list[0] = list[0].WithSymbol(s.label)
		s.label = ""
	}
	s.list = append(s.list, list...)
}

// at puts a label before the next instruction.
func (s *segment) at(label string) {
	if s.label != "" { // two labels of one place
		s.add(asm.Ja.Label(label))
	}
	s.label = label
}

func (s *segment) mapOf(dst asm.Register, m *ebpf.Map) asm.Instruction {
	ins := asm.LoadMapPtr(dst, 0)
	if err := ins.AssociateMap(m); err != nil && s.failed == nil {
		s.failed = err
	}
	return ins
}

// find leaves the only value of a table in R0, and goes to none where there is nothing.
// zero is a slot of the stack that has 0.
func (s *segment) find(table *ebpf.Map, zero int16, none string) {
	s.add(asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, int32(zero)), s.mapOf(asm.R1, table), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, none))
}

// increase counts for a function, and leaves the new value in R2.
func (s *segment) increase(number uint32, field int16) {
	at := int16(number)*sizeOfCount + field
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.counts, asm.DWord), asm.LoadMem(asm.R2, asm.R1, at, asm.DWord), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, at, asm.R2, asm.DWord))
}

// enter leaves for another program, and comes back where there is none.
func (s *segment) enter(programs *ebpf.Map, number uint32) {
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord), s.mapOf(asm.R2, programs), asm.Mov.Imm(asm.R3, int32(number)), asm.FnTailCall.Call())
}

// clear writes 0 to a place of the stack.
func (s *segment) clear(place int16) asm.Instruction { return zero(asm.RFP, place) }

// zero writes 0 to 8 bytes behind a pointer.
func zero(pointer asm.Register, offset int16) asm.Instruction {
	return asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: pointer, Offset: offset}
}

// ask writes what one function takes. What seldom happens stands apart, after all
// functions: rare writes it.
func (s *segment) ask(i int, l link) (rare func()) {
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, i) }
	number := l.step.Number
	s.at(name("ask"))
	s.enters(l.enters, i)
	s.increase(number, countSeen)
	// The time stands here, though it is seldom taken: the verifier (Linux 6.18) looks at what stands next first,
	// and what holds behind it with some time holds without one, too.
	s.add(asm.And.Imm(asm.R2, sampleMask), asm.JNE.Imm(asm.R2, 1, name("body")),
		asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.RFP, s.start, asm.R0, asm.DWord))
	s.at(name("body"))
	s.remember(l.piece)
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord))
	s.add(s.hook.body(l.piece)...)
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.start, asm.DWord), asm.JNE.Imm(asm.R1, 0, name("timed")))
	s.at(name("said"))
	s.compare(l.piece, name("broken"))
	if s.shared.Trace != nil {
		s.add(asm.Mov.Reg(asm.R6, asm.R0))
		s.trace(traceFunction, number, name("traced"))
		s.add(asm.Mov.Reg(asm.R0, asm.R6))
	}
	s.add(asm.JNE.Imm32(asm.R0, int32(Continue), name("other")))
	return func() {
		s.at(name("timed"))
		ns := int16(number)*sizeOfCount + countNs
		s.add(asm.StoreMem(asm.RFP, s.packets, asm.R0, asm.Word), asm.FnKtimeGetNs.Call(),
			asm.LoadMem(asm.R1, asm.RFP, s.start, asm.DWord), asm.Sub.Reg(asm.R0, asm.R1), s.clear(s.start))
		s.increase(number, countSamples)
		s.add(asm.LoadMem(asm.R2, asm.R1, ns, asm.DWord), asm.Add.Reg(asm.R2, asm.R0), asm.StoreMem(asm.R1, ns, asm.R2, asm.DWord),
			asm.LoadMem(asm.R0, asm.RFP, s.packets, asm.Word), asm.Ja.Label(name("said")))

		if l.piece.leaves != nil {
			s.at(name("broken"))
			s.broken(number, name("decided"))
		}

		s.at(name("other"))
		s.add(asm.StoreMem(asm.RFP, s.start, asm.R0, asm.Word), asm.StoreImm(asm.RFP, s.decider, int64(number), asm.Word),
			asm.JEq.Imm32(asm.R0, int32(Accept), name("decided")), asm.JEq.Imm32(asm.R0, int32(Drop), name("decided")))
		if l.piece.ToUser {
			s.add(asm.JNE.Imm32(asm.R0, int32(ToUser), name("not-to-user")),
				asm.Mov.Imm(asm.R1, int32(i)), asm.StoreMem(asm.RFP, s.start, asm.R1, asm.DWord), asm.Ja.Label("to-user"))
			s.at(name("not-to-user"))
		}
		for n, program := range l.jumps {
			no := fmt.Sprintf("%s-%d", name("jump"), n)
			s.add(asm.LoadMem(asm.R0, asm.RFP, s.start, asm.Word), asm.JNE.Imm32(asm.R0, int32(JumpTo)+int32(n), no))
			s.enter(s.hook.chains, program)
			s.at(no)
		}
		s.increase(number, countFailed)
		if l.step.FailOpen {
			s.add(s.clear(s.start), asm.Ja.Label(fmt.Sprintf("ask-%d", i+1)))
		} else {
			s.add(asm.StoreImm(asm.RFP, s.start, int64(Drop), asm.Word))
		}
		s.at(name("decided"))
		s.add(asm.StoreImm(asm.RFP, s.packets, l.packets.word(s.differ), asm.Word), asm.Ja.Label("at-end"))
	}
}

// enters writes down that a chain begins.
func (s *segment) enters(chain, i int) {
	if s.shared.Trace == nil || chain == 0 {
		return
	}
	s.add(asm.Mov.Imm(asm.R6, 0))
	s.trace(traceChain, uint32(chain), fmt.Sprintf("entered-%d", i))
}

// trace writes down a step of a dry run, as bpf/trace/dry.h does: R6 is what was said. The
// slot of start has 0.
func (s *segment) trace(kind int64, number uint32, done string) {
	s.find(s.shared.Trace, s.start, done)
	s.add(asm.LoadMem(asm.R1, asm.R0, traceCount, asm.Word), asm.Mov.Reg(asm.R2, asm.R1), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, traceCount, asm.R2, asm.Word), asm.JGE.Imm(asm.R1, int32(classifierTraceLimitTRACE_STEPS), done),
		asm.Mul.Imm(asm.R1, int32(unsafe.Sizeof(classifierTraceStep{}))), asm.Add.Reg(asm.R0, asm.R1),
		zero(asm.R0, traceStep), zero(asm.R0, traceStep+8),
		asm.StoreImm(asm.R0, traceStep+traceKind, kind, asm.Half), asm.StoreMem(asm.R0, traceStep+traceSays, asm.R6, asm.Word),
		asm.StoreImm(asm.R0, traceStep+traceNumber, int64(number), asm.Word))
	s.at(done)
}

// write returns the program.
func (s *segment) write(links []link, next uint32, packets further, enters int) (asm.Instructions, error) {
	s.differ = packets.waiting != packets.done || slices.ContainsFunc(links, func(l link) bool { return l.packets.waiting != l.packets.done })
	s.add(asm.StoreMem(asm.RFP, s.context, asm.R1, asm.DWord), s.clear(s.start))
	if slices.ContainsFunc(links, func(l link) bool { return l.piece.Rewrites }) {
		s.find(s.shared.Packets, s.start, "no-packet")
		s.add(asm.StoreImm(asm.R0, packetChanged, int64(classifierNfChangedNF_MAY_BE_CHANGED), asm.Byte))
	}
	if len(links) > 0 {
		s.find(s.shared.Counts, s.start, "no-packet")
		s.add(asm.StoreMem(asm.RFP, s.counts, asm.R0, asm.DWord))
	}
	var rare []func()
	for i, l := range links {
		rare = append(rare, s.ask(i, l))
	}
	s.at(fmt.Sprintf("ask-%d", len(links)))
	s.enters(enters, len(links))
	verdict := Accept
	if next > 0 {
		s.enter(s.hook.chains, next)
		verdict = Drop
	}
	s.add(asm.StoreImm(asm.RFP, s.decider, 0, asm.Word), asm.StoreImm(asm.RFP, s.start, int64(verdict), asm.Word),
		asm.StoreImm(asm.RFP, s.packets, packets.word(s.differ), asm.Word))
	s.at("at-end")
	s.add(s.clear(s.context))
	s.find(s.shared.Packets, s.context, "no-packet")
	for _, say := range []struct{ from, to int16 }{{s.start, packetVerdict}, {s.decider, packetFunction}} {
		s.add(asm.LoadMem(asm.R1, asm.RFP, say.from, asm.Word), asm.StoreMem(asm.R0, say.to, asm.R1, asm.Word))
	}
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.packets, asm.Word))
	if s.differ {
		s.add(asm.LoadMem(asm.R2, asm.R0, packetPayload, asm.Byte), asm.JEq.Imm(asm.R2, 0, "waiting"), asm.RSh.Imm(asm.R1, doneShift))
		s.at("waiting")
		s.add(asm.And.Imm(asm.R1, 1<<doneShift-1))
	}
	s.add(asm.StoreMem(asm.R0, packetProgram, asm.R1, asm.Word))
	s.add(asm.Mov.Imm(asm.R0, saidPass), asm.Return())
	s.at("no-packet")
	s.add(asm.Mov.Imm(asm.R0, saidNothing), asm.Return())
	for _, write := range rare {
		write()
	}
	if tell(links) {
		s.copy(links)
	}
	if own := aloneOf(links); own != nil {
		s.describe(own, s.hook.body(links[0].piece)[0].Source())
	}
	return s.list, s.failed
}

// aloneOf is what the program has that is of one function only, nil where there are
// others, or none.
func aloneOf(links []link) *alone {
	if len(links) != 1 {
		return nil
	}
	return links[0].piece.alone
}

// describe adds what a program has that is of one function only: the functions that it
// calls, and its type and a line of its source, which the kernel wants at its beginning.
func (s *segment) describe(own *alone, line fmt.Stringer) {
	if own.function != nil {
		s.list[0] = btf.WithFuncMetadata(s.list[0], own.function).WithSource(line)
	}
	if s.hook.buffer {
		s.list = append(s.list, own.buffer...)
	} else {
		s.list = append(s.list, own.calls...)
	}
}
