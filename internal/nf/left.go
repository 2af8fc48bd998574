package nf

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// leaving is what programs take up to compare what is before a function of a user's own with what it leaves
// (left.bpf.c): the description of the packet, and its headers unless the function may rewrite.
func leaving(rewrites bool, c Context) (*Piece, error) {
	spec, err := loadLeft()
	if err != nil {
		return nil, fmt.Errorf("read what compares: %w", err)
	}
	buffer, err := loadLeftTCX()
	if err != nil {
		return nil, fmt.Errorf("read what compares: %w", err)
	}
	name := "nf_left"
	if rewrites {
		name = "nf_left_description"
	}
	p := &Piece{}
	return p, p.TakeBoth(spec.Programs[name], buffer.Programs[name], c)
}

// remember keeps what is before a function, in the slot of decider, which is not in use before one has decided.
func (s *segment) remember(p *Piece) {
	if p.leaves == nil {
		return
	}
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord))
	s.add(s.hook.body(p.leaves)...)
	s.add(asm.StoreMem(asm.RFP, s.decider, asm.R0, asm.Word))
}

// compare goes to broken where the function has left something else. R0 is what it said, before and after.
func (s *segment) compare(p *Piece, broken string) {
	if p.leaves == nil {
		return
	}
	s.add(asm.StoreMem(asm.RFP, s.packets, asm.R0, asm.Word), asm.LoadMem(asm.R1, asm.RFP, s.context, asm.DWord))
	s.add(s.hook.body(p.leaves)...)
	s.add(asm.LoadMem(asm.R1, asm.RFP, s.decider, asm.Word), asm.JNE.Reg32(asm.R0, asm.R1, broken),
		asm.LoadMem(asm.R0, asm.RFP, s.packets, asm.Word))
}

// broken writes what becomes of a packet that a function has changed without saying that it would: it is dropped, whatever the
// function's place says of one that cannot say, and counted as failed.
func (s *segment) broken(number uint32, decided string) {
	s.increase(number, countFailed)
	s.add(s.clear(s.start))
	s.find(s.shared.Packets, s.start, "no-packet")
	s.add(asm.StoreImm(asm.R0, packetChanged, int64(classifierNfChangedNF_BROKEN), asm.Byte),
		asm.StoreImm(asm.RFP, s.start, int64(Drop), asm.Word), asm.StoreImm(asm.RFP, s.decider, int64(number), asm.Word),
		asm.Ja.Label(decided))
}
