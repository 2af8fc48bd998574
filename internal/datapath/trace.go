package datapath

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// TraceKind says what a step of a dry run is, and what it has (bpf/trace/trace.h).
type TraceKind uint32

// The steps of a dry run.
const (
	TraceFind      = TraceKind(explainTraceKindTRACE_FIND)
	TraceBan       = TraceKind(explainTraceKindTRACE_BAN)
	TraceMapping   = TraceKind(explainTraceKindTRACE_MAPPING)
	TraceHost      = TraceKind(explainTraceKindTRACE_HOST)
	TraceBinding   = TraceKind(explainTraceKindTRACE_BINDING)
	TraceAsk       = TraceKind(explainTraceKindTRACE_ASK)
	TraceChain     = TraceKind(explainTraceKindTRACE_CHAIN)
	TraceFunction  = TraceKind(explainTraceKindTRACE_FUNCTION)
	TraceDnat      = TraceKind(explainTraceKindTRACE_DNAT)
	TraceFiltering = TraceKind(explainTraceKindTRACE_FILTERING)
	TraceKnown     = TraceKind(explainTraceKindTRACE_KNOWN)
	TraceClaim     = TraceKind(explainTraceKindTRACE_CLAIM)
	TraceLimit     = TraceKind(explainTraceKindTRACE_LIMIT)
	TraceNAT       = TraceKind(explainTraceKindTRACE_NAT)
	TraceHairpin   = TraceKind(explainTraceKindTRACE_HAIRPIN)
	TraceMTU       = TraceKind(explainTraceKindTRACE_MTU)
	TraceMSS       = TraceKind(explainTraceKindTRACE_MSS)
	TraceCookie    = TraceKind(explainTraceKindTRACE_COOKIE)
	TraceOverflow  = TraceKind(explainTraceKindTRACE_OVERFLOW)
	TracePact      = TraceKind(explainTraceKindTRACE_PACT)
	TraceLink      = TraceKind(explainTraceKindTRACE_LINK)
	TraceEnd       = TraceKind(explainTraceKindTRACE_END)
)

// What chains are asked for, in Says of TraceAsk.
const (
	AskFlow = uint32(explainNfHookNF_HOOK_FLOW)
	AskDnat = uint32(explainNfHookNF_HOOK_DNAT)
)

// What functions say, in Says of TraceFunction.
const (
	SaysContinue = uint32(explainNfVerdictNF_CONTINUE)
	SaysAccept   = uint32(explainNfVerdictNF_ACCEPT)
	SaysDrop     = uint32(explainNfVerdictNF_DROP)
	SaysToUser   = uint32(explainNfVerdictNF_TO_USER)
	SaysJump     = uint32(explainNfVerdictNF_JUMP) // and what follows it
)

// TraceStep is a step of a dry run.
type TraceStep struct {
	Kind         TraceKind
	Says, Number uint32
	Address      netip.Addr
	Port         uint16
}

// Reason names what ended a packet, in Says of a step.
func (d *core) Reason(number uint32) model.Reason {
	if int(number) >= len(d.reasons) {
		return ""
	}
	return model.Reason(d.reasons[number])
}
