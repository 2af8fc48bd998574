package nf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/asm"
)

// capturing returns what programs take up to copy a packet (bpf/capture.bpf.c).
func capturing(shared Shared) (p Compiled, err error) {
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

// tell reports whether a function of sites may say NF_TO_USER.
func tell(sites []callSite) bool {
	return slices.ContainsFunc(sites, func(site callSite) bool { return site.compiled.ToUser })
}

// copy writes what copies the packet when a function has said NF_TO_USER, the one whose
// place is in the slot start, which is not in use between functions: once for all of
// the program. Then the next function is asked.
func (a *assembler) copy(sites []callSite) {
	a.at("to-user")
	a.add(asm.StoreImm(asm.RFP, a.packets, 0, asm.Word))
	a.find(a.shared.Packets, a.packets, "to-user-done")
	a.add(asm.LoadMem(asm.R1, asm.RFP, a.decider, asm.Word), asm.StoreMem(asm.R0, packetFunction, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, a.context, asm.DWord))
	a.add(a.hook.body(&a.capture)...)
	a.at("to-user-done")
	a.add(asm.LoadMem(asm.R0, asm.RFP, a.start, asm.DWord), a.clear(a.start))
	for i, site := range sites {
		if site.compiled.ToUser {
			a.add(asm.JEq.Imm(asm.R0, int32(i), fmt.Sprintf("ask-%d", i+1)))
		}
	}
	a.add(asm.Ja.Label("no-packet")) // one of them was asked
}
