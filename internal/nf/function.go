package nf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Function is a network function of a chain, as it is to be compiled.
type Function interface {
	// SeesEveryPacket reports whether it judges every packet of a flow, and not only
	// the first.
	SeesEveryPacket() bool
	// Compile returns what programs take up of it.
	Compile(Context) (Compiled, error)
}

// Waiter is a function that sees every packet until the first bytes of a flow have come.
type Waiter interface{ WaitsForBytes() bool }

// Checker is a function that may not fit.
type Checker interface{ Check() error }

// Context is what a function is compiled with.
type Context struct {
	Name   string // the function's own, unique among all
	Shared Shared
	States *States
}

// Compiled is a function in the form in which a program takes it up: its maps, and the code that Take links with them.
type Compiled struct {
	Maps     map[string]*ebpf.Map // its own, of this generation
	Kept     map[string]*ebpf.Map // those that States keep
	ToUser   bool                 // it may say NF_TO_USER
	Rewrites bool                 // it may change the packet

	body       asm.Instructions // ends by a jump to what follows
	buffer     asm.Instructions // the same for socket buffers, nil where it is no other
	stack      int              // bytes
	ownProgram *ownProgram      // it gets a program of its own
	leaves     *Compiled        // compares what it leaves, nil where nothing is to be compared
}

// Standalone is a function that is a program of its own, with functions that it calls.
type Standalone struct {
	Main, Calls asm.Instructions
	Buffers     asm.Instructions // Main and Calls, for socket buffers
	Stack       int              // that Main uses, bytes
	Licence     string
}

// ownProgram is what a program of its own has of its function.
type ownProgram struct {
	calls    asm.Instructions // functions that it calls
	buffer   asm.Instructions // the same for socket buffers
	licence  string
	function *btf.Func // its type, nil where nothing is known
}

// Packet is a packet as functions see it (bpf/include/nf.h), for tests and trials.
type Packet = classifierNfPacket

type (
	// Counters are what functions did, by their numbers.
	Counters = classifierNfCounters
	// Count is what one function did.
	Count = classifierNfCount
)

// Trace is what a dry run wrote down (bpf/trace/trace.h).
type Trace = classifierTrace

// TraceChain is the kind of a step at which a chain begins.
const TraceChain = classifierTraceKindTRACE_CHAIN

// Verdict is what a function says.
type Verdict = classifierNfVerdict

// The verdicts.
const (
	Continue = classifierNfVerdictNF_CONTINUE
	Accept   = classifierNfVerdictNF_ACCEPT
	Drop     = classifierNfVerdictNF_DROP
	ToUser   = classifierNfVerdictNF_TO_USER
	Fail     = classifierNfVerdictNF_FAIL
	JumpTo   = classifierNfVerdictNF_JUMP // the first of the chains that it may go on in
)
