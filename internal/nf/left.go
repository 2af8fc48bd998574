package nf

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// leaving is what programs take up to compare what is before a function of a user's own with what it leaves
// (left.bpf.c): the description of the packet, and its headers unless the function may rewrite.
func leaving(rewrites bool, c Context) (*Compiled, error) {
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
	p := &Compiled{}
	return p, p.TakeBoth(spec.Programs[name], buffer.Programs[name], c)
}

// remember keeps what is before a function, in the slot of decider, which is not in use before one has decided.
func (a *assembler) remember(p *Compiled) {
	if p.leaves == nil {
		return
	}
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.context, asm.DWord))
	a.add(a.hook.body(p.leaves)...)
	a.add(asm.StoreMem(asm.RFP, a.decider, asm.R0, asm.Word))
}

// compare goes to broken where the function has left something else. R0 is what it said, before and after.
func (a *assembler) compare(p *Compiled, broken string) {
	if p.leaves == nil {
		return
	}
	a.add(asm.StoreMem(asm.RFP, a.packets, asm.R0, asm.Word), asm.LoadMem(asm.R1, asm.RFP, a.context, asm.DWord))
	a.add(a.hook.body(p.leaves)...)
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.decider, asm.Word), asm.JNE.Reg32(asm.R0, asm.R1, broken),
		asm.LoadMem(asm.R0, asm.RFP, a.packets, asm.Word))
}

// broken writes what becomes of a packet that a function has changed without saying that it would: it is dropped, whatever the
// function's place says of one that cannot say, and counted as failed.
func (a *assembler) broken(number uint32, decided string) {
	a.increase(number, countFailed)
	a.add(a.clear(a.start))
	a.find(a.shared.Packets, a.start, "no-packet")
	a.add(asm.StoreImm(asm.R0, packetChanged, int64(classifierNfChangedNF_BROKEN), asm.Byte),
		asm.StoreImm(asm.RFP, a.start, int64(Drop), asm.Word), asm.StoreImm(asm.RFP, a.decider, int64(number), asm.Word),
		asm.Ja.Label(decided))
}
