package chain

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"
)

// capturing returns what programs take up to copy a packet (bpf/capture.bpf.c).
func capturing(shared Shared) (p piece, err error) {
	spec, err := loadCapture()
	if err != nil {
		return p, fmt.Errorf("read what captures: %w", err)
	}
	err = p.take(spec.Programs["capture"], shared)
	return p, err
}

// tell reports whether a function of links may say NF_TO_USER.
func tell(links []link) bool {
	return slices.ContainsFunc(links, func(l link) bool { return l.piece.tells })
}

// copy writes what copies the packet when a function has said NF_TO_USER, the one whose
// place R7 has: once for all of the program. Then the next function is asked.
func (s *segment) copy(links []link) {
	s.at("copy")
	place := s.start // which is not in use between functions; the verifier knows what is in it
	s.add(asm.StoreMem(asm.RFP, place, asm.R7, asm.DWord),
		asm.LoadMem(asm.R6, asm.RFP, s.key, asm.Word), asm.StoreImm(asm.RFP, s.key, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, int32(s.key)), s.mapOf(asm.R1, s.shared.Packets), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "copied"),
		asm.StoreMem(asm.R0, packetFunction, asm.R6, asm.Word), asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord))
	s.add(s.capture.body...)
	s.at("copied")
	s.add(asm.LoadMem(asm.R7, asm.RFP, place, asm.DWord), asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, place, asm.R1, asm.DWord))
	for i, l := range links {
		if l.piece.tells {
			s.add(asm.JEq.Imm(asm.R7, int32(i), fmt.Sprintf("ask-%d", i+1)))
		}
	}
	s.add(asm.Ja.Label("gone")) // one of them was asked
}
