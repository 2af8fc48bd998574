package nf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"
)

// capturing returns what programs take up to copy a packet (bpf/capture.bpf.c).
func capturing(shared Shared) (p Piece, err error) {
	spec, err := loadCapture()
	if err != nil {
		return p, fmt.Errorf("read what captures: %w", err)
	}
	buffer, err := loadCaptureTCX()
	if err != nil {
		return p, fmt.Errorf("read what captures: %w", err)
	}
	err = p.TakeBoth(spec.Programs["capture"], buffer.Programs["capture"], Context{Shared: shared})
	return p, err
}

// tell reports whether a function of links may say NF_TO_USER.
func tell(links []link) bool {
	return slices.ContainsFunc(links, func(l link) bool { return l.piece.ToUser })
}

// copy writes what copies the packet when a function has said NF_TO_USER, the one whose
// place is in the slot start, which is not in use between functions: once for all of
// the program. Then the next function is asked.
func (s *segment) copy(links []link) {
	s.at("to-user")
	s.add(asm.StoreImm(asm.RFP, s.packets, 0, asm.Word))
	s.find(s.shared.Packets, s.packets, "to-user-done")
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.decider, asm.Word), asm.StoreMem(asm.R0, packetFunction, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord))
	s.add(s.hook.body(&s.capture)...)
	s.at("to-user-done")
	s.add(asm.LoadMem(asm.R0, asm.RFP, s.start, asm.DWord), s.clear(s.start))
	for i, l := range links {
		if l.piece.ToUser {
			s.add(asm.JEq.Imm(asm.R0, int32(i), fmt.Sprintf("ask-%d", i+1)))
		}
	}
	s.add(asm.Ja.Label("no-packet")) // one of them was asked
}
