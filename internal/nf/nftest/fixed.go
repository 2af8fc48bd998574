package nftest

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/realmgate/realmgate/internal/nf"
)

// Fixed is a function that always says the same.
type Fixed nf.Verdict

// SeesEveryPacket implements nf.Function.
func (Fixed) SeesEveryPacket() bool { return false }

// Compile implements nf.Function.
func (f Fixed) Compile(c nf.Context) (p nf.Compiled, err error) {
	p.ToUser = nf.Verdict(f) == nf.ToUser
	err = p.Take(&ebpf.ProgramSpec{Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, int32(f)), asm.Return()}}, c)
	return p, err
}
