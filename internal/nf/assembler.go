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
	// doneShift is where done is in the word of packetPrograms.
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
	countLost      = int16(unsafe.Offsetof(classifierNfCount{}.Lost))
	sizeOfCount    = int16(unsafe.Sizeof(classifierNfCount{}))

	traceCount    = int16(unsafe.Offsetof(classifierTrace{}.Count))
	traceStep     = int16(unsafe.Offsetof(classifierTrace{}.Step))
	traceKind     = int16(unsafe.Offsetof(classifierTraceStep{}.Kind))
	traceSays     = int16(unsafe.Offsetof(classifierTraceStep{}.Says))
	traceNumber   = int16(unsafe.Offsetof(classifierTraceStep{}.Number))
	traceChain    = int64(classifierTraceKindTRACE_CHAIN)
	traceFunction = int64(classifierTraceKindTRACE_FUNCTION)
)

// callSite is a function at its place in the sequence of functions that a program asks.
type callSite struct {
	step     *Step
	compiled *Compiled
	packets  packetPrograms // what judges the flow's further packets, if this one decides
	jumps    []uint32       // programs that it may go on in
	enters   int            // the place of the chain that begins with it, from 1 on; 0: it is not the first
}

// packetPrograms are what judges the further packets of a flow (nf->packet_program, bpf/path/chain.h):
// while functions wait for its first bytes, and when these have been judged.
type packetPrograms struct{ waiting, done uint32 }

// word is what a program keeps of it: both halves in a program where they may differ.
func (p packetPrograms) word(differ bool) int64 {
	if !differ {
		return int64(p.waiting)
	}
	return int64(p.done)<<doneShift | int64(p.waiting)
}

// assembler writes one program: the functions of sites, in their order. The first that
// decides has the last word; where none does the packet goes on in program next, or
// without one is accepted, and packets is the program for its flow's further ones.
type assembler struct {
	shared  Shared
	hook    *hook
	capture Compiled // what copies a packet
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

func newAssembler(sites []callSite, capture Compiled, shared Shared, h *hook) *assembler {
	deep := capture.stack
	for _, site := range sites {
		deep = max(deep, site.compiled.stack)
	}
	bottom := int16(-((deep + 7) &^ 7))
	return &assembler{
		shared: shared, hook: h, capture: capture,
		context: bottom - 8, counts: bottom - 16, start: bottom - 24, decider: bottom - 28, packets: bottom - 32,
	}
}

func (a *assembler) add(list ...asm.Instruction) {
	if a.label != "" && len(list) > 0 {
		list[0] = list[0].WithSymbol(a.label)
		a.label = ""
	}
	a.list = append(a.list, list...)
}

// at puts a label before the next instruction.
func (a *assembler) at(label string) {
	if a.label != "" { // two labels of one place
		a.add(asm.Ja.Label(label))
	}
	a.label = label
}

func (a *assembler) mapOf(dst asm.Register, m *ebpf.Map) asm.Instruction {
	ins := asm.LoadMapPtr(dst, 0)
	if err := ins.AssociateMap(m); err != nil && a.failed == nil {
		a.failed = err
	}
	return ins
}

// find leaves the only value of a table in R0, and goes to none where there is nothing.
// zero is a slot of the stack that has 0.
func (a *assembler) find(table *ebpf.Map, zero int16, none string) {
	a.add(asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, int32(zero)), a.mapOf(asm.R1, table), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, none))
}

// increase counts for a function, and leaves the new value in R2.
func (a *assembler) increase(number uint32, field int16) {
	at := int16(number)*sizeOfCount + field
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.counts, asm.DWord), asm.LoadMem(asm.R2, asm.R1, at, asm.DWord), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, at, asm.R2, asm.DWord))
}

// enter leaves for another program, and comes back where there is none.
func (a *assembler) enter(programs *ebpf.Map, number uint32) {
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.context, asm.DWord), a.mapOf(asm.R2, programs), asm.Mov.Imm(asm.R3, int32(number)), asm.FnTailCall.Call())
}

// clear writes 0 to a place of the stack.
func (a *assembler) clear(place int16) asm.Instruction { return zero(asm.RFP, place) }

// zero writes 0 to 8 bytes behind a pointer.
func zero(pointer asm.Register, offset int16) asm.Instruction {
	return asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: pointer, Offset: offset}
}

// unknown writes a 0 to the slot of start that the verifier does not know: the copies lost of number 0, which is no function's.
// So what it has seen holds with a time, too, and it goes through each function once.
func (a *assembler) unknown() {
	a.add(asm.LoadMem(asm.R1, asm.R0, countLost, asm.DWord), asm.StoreMem(asm.RFP, a.start, asm.R1, asm.DWord))
}

// ask writes what one function takes. What seldom happens stands apart, after all
// functions: rare writes it.
func (a *assembler) ask(i int, site callSite) (rare func()) {
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, i) }
	number := site.step.Number
	a.at(name("ask"))
	a.enters(site.enters, i)
	a.increase(number, countSeen)
	a.add(asm.And.Imm(asm.R2, sampleMask), asm.JEq.Imm(asm.R2, 1, name("time")))
	a.at(name("body"))
	a.remember(site.compiled)
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.context, asm.DWord))
	a.add(a.hook.body(site.compiled)...)
	// By half of the slot: by all of it the verifier (Linux 6.18) would know its value behind, see unknown.
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.start, asm.Word), asm.JNE.Imm(asm.R1, 0, name("timed")))
	a.at(name("said"))
	a.compare(site.compiled, name("broken"))
	if a.shared.Trace != nil {
		a.add(asm.Mov.Reg(asm.R6, asm.R0))
		a.trace(traceFunction, number, name("traced"))
		a.add(asm.Mov.Reg(asm.R0, asm.R6))
	}
	a.add(asm.JNE.Imm32(asm.R0, int32(Continue), name("other")))
	return func() {
		a.at(name("time"))
		a.add(asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.RFP, a.start, asm.R0, asm.DWord), asm.Ja.Label(name("body")))

		a.at(name("timed"))
		ns := int16(number)*sizeOfCount + countNs
		a.add(asm.StoreMem(asm.RFP, a.packets, asm.R0, asm.Word), asm.FnKtimeGetNs.Call(),
			asm.LoadMem(asm.R1, asm.RFP, a.start, asm.DWord), asm.Sub.Reg(asm.R0, asm.R1), a.clear(a.start))
		a.increase(number, countSamples)
		a.add(asm.LoadMem(asm.R2, asm.R1, ns, asm.DWord), asm.Add.Reg(asm.R2, asm.R0), asm.StoreMem(asm.R1, ns, asm.R2, asm.DWord),
			asm.LoadMem(asm.R0, asm.RFP, a.packets, asm.Word), asm.Ja.Label(name("said")))

		if site.compiled.leaves != nil {
			a.at(name("broken"))
			a.broken(number, name("decided"))
		}

		a.at(name("other"))
		a.add(asm.StoreMem(asm.RFP, a.start, asm.R0, asm.Word), asm.StoreImm(asm.RFP, a.decider, int64(number), asm.Word),
			asm.JEq.Imm32(asm.R0, int32(Accept), name("decided")), asm.JEq.Imm32(asm.R0, int32(Drop), name("decided")))
		if site.compiled.ToUser {
			a.add(asm.JNE.Imm32(asm.R0, int32(ToUser), name("not-to-user")),
				asm.Mov.Imm(asm.R1, int32(i)), asm.StoreMem(asm.RFP, a.start, asm.R1, asm.DWord), asm.Ja.Label("to-user"))
			a.at(name("not-to-user"))
		}
		for n, program := range site.jumps {
			no := fmt.Sprintf("%s-%d", name("jump"), n)
			a.add(asm.LoadMem(asm.R0, asm.RFP, a.start, asm.Word), asm.JNE.Imm32(asm.R0, int32(JumpTo)+int32(n), no))
			a.enter(a.hook.chains, program)
			a.at(no)
		}
		a.increase(number, countFailed)
		if site.step.FailOpen {
			a.add(a.clear(a.start), asm.Ja.Label(fmt.Sprintf("ask-%d", i+1)))
		} else {
			a.add(asm.StoreImm(asm.RFP, a.start, int64(Drop), asm.Word))
		}
		a.at(name("decided"))
		a.add(asm.StoreImm(asm.RFP, a.packets, site.packets.word(a.differ), asm.Word), asm.Ja.Label("at-end"))
	}
}

// enters writes down that a chain begins.
func (a *assembler) enters(chain, i int) {
	if a.shared.Trace == nil || chain == 0 {
		return
	}
	a.add(asm.Mov.Imm(asm.R6, 0))
	a.trace(traceChain, uint32(chain), fmt.Sprintf("entered-%d", i))
}

// trace writes down a step of a dry run, as bpf/trace/dry.h does: R6 is what was said. The
// slot of start has 0.
func (a *assembler) trace(kind int64, number uint32, done string) {
	a.find(a.shared.Trace, a.start, done)
	a.add(asm.LoadMem(asm.R1, asm.R0, traceCount, asm.Word), asm.Mov.Reg(asm.R2, asm.R1), asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, traceCount, asm.R2, asm.Word), asm.JGE.Imm(asm.R1, int32(classifierTraceLimitTRACE_STEPS), done),
		asm.Mul.Imm(asm.R1, int32(unsafe.Sizeof(classifierTraceStep{}))), asm.Add.Reg(asm.R0, asm.R1),
		zero(asm.R0, traceStep), zero(asm.R0, traceStep+8),
		asm.StoreImm(asm.R0, traceStep+traceKind, kind, asm.Half), asm.StoreMem(asm.R0, traceStep+traceSays, asm.R6, asm.Word),
		asm.StoreImm(asm.R0, traceStep+traceNumber, int64(number), asm.Word))
	a.at(done)
}

// write returns the program.
func (a *assembler) write(sites []callSite, next uint32, packets packetPrograms, enters int) (asm.Instructions, error) {
	a.differ = packets.waiting != packets.done || slices.ContainsFunc(sites, func(site callSite) bool { return site.packets.waiting != site.packets.done })
	a.add(asm.StoreMem(asm.RFP, a.context, asm.R1, asm.DWord), a.clear(a.start))
	if slices.ContainsFunc(sites, func(site callSite) bool { return site.compiled.Rewrites }) {
		a.find(a.shared.Packets, a.start, "no-packet")
		a.add(asm.StoreImm(asm.R0, packetChanged, int64(classifierNfChangedNF_MAY_BE_CHANGED), asm.Byte))
	}
	if len(sites) > 0 {
		a.find(a.shared.Counts, a.start, "no-packet")
		a.add(asm.StoreMem(asm.RFP, a.counts, asm.R0, asm.DWord))
		a.unknown()
	}
	var rare []func()
	for i, site := range sites {
		rare = append(rare, a.ask(i, site))
	}
	a.at(fmt.Sprintf("ask-%d", len(sites)))
	a.enters(enters, len(sites))
	verdict := Accept
	if next > 0 {
		a.enter(a.hook.chains, next)
		verdict = Drop
	}
	a.add(asm.StoreImm(asm.RFP, a.decider, 0, asm.Word), asm.StoreImm(asm.RFP, a.start, int64(verdict), asm.Word),
		asm.StoreImm(asm.RFP, a.packets, packets.word(a.differ), asm.Word))
	a.at("at-end")
	a.add(a.clear(a.context))
	a.find(a.shared.Packets, a.context, "no-packet")
	for _, say := range []struct{ from, to int16 }{{a.start, packetVerdict}, {a.decider, packetFunction}} {
		a.add(asm.LoadMem(asm.R1, asm.RFP, say.from, asm.Word), asm.StoreMem(asm.R0, say.to, asm.R1, asm.Word))
	}
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.packets, asm.Word))
	if a.differ {
		a.add(asm.LoadMem(asm.R2, asm.R0, packetPayload, asm.Byte), asm.JEq.Imm(asm.R2, 0, "waiting"), asm.RSh.Imm(asm.R1, doneShift))
		a.at("waiting")
		a.add(asm.And.Imm(asm.R1, 1<<doneShift-1))
	}
	a.add(asm.StoreMem(asm.R0, packetProgram, asm.R1, asm.Word))
	a.add(asm.Mov.Imm(asm.R0, saidPass), asm.Return())
	a.at("no-packet")
	a.add(asm.Mov.Imm(asm.R0, saidNothing), asm.Return())
	for _, write := range rare {
		write()
	}
	if tell(sites) {
		a.copy(sites)
	}
	if own := ownProgramOf(sites); own != nil {
		a.describe(own, a.hook.body(sites[0].compiled)[0].Source())
	}
	return a.list, a.failed
}

// ownProgramOf is what the program has that is of one function only, nil where there are
// others, or none.
func ownProgramOf(sites []callSite) *ownProgram {
	if len(sites) != 1 {
		return nil
	}
	return sites[0].compiled.ownProgram
}

// describe adds what a program has that is of one function only: the functions that it
// calls, and its type and a line of its source, which the kernel wants at its beginning.
func (a *assembler) describe(own *ownProgram, line fmt.Stringer) {
	if own.function != nil {
		a.list[0] = btf.WithFuncMetadata(a.list[0], own.function).WithSource(line)
	}
	if a.hook.buffer {
		a.list = append(a.list, own.buffer...)
	} else {
		a.list = append(a.list, own.calls...)
	}
}
