package chain

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// bed runs chains without a gateway: a program in its place returns what they said.
type bed struct {
	t      testing.TB
	shared Shared
	states States
	made   Programs
}

// said is what a chain left.
type said struct {
	verdict  classifierNfVerdict
	function uint32
	packets  uint32
}

func newBed(t testing.TB) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it loads programs")
	}
	spec, err := loadClassifier()
	if err != nil {
		t.Fatal(err)
	}
	capture, err := loadCapture()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(spec.Maps, capture.Maps)
	b := &bed{t: t}
	for name, m := range map[string]**ebpf.Map{
		"nf_packets": &b.shared.Packets, "nf_counts": &b.shared.Counts, "programs": &b.shared.Programs, "chains": &b.shared.Chains,
		"capture_snaps": &b.shared.Snaps, "capture_rings": &b.shared.Rings,
	} {
		if *m, err = ebpf.NewMap(spec.Maps[name]); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*m).Close() })
	}
	packets := asm.LoadMapPtr(asm.R1, b.shared.Packets.FD())
	again, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: licence, Instructions: asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), packets, asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.LoadMem(asm.R1, asm.R0, packetVerdict, asm.Word), asm.LoadMem(asm.R2, asm.R0, packetFunction, asm.Word),
		asm.LoadMem(asm.R3, asm.R0, packetPackets, asm.Word),
		asm.LSh.Imm(asm.R2, 8), asm.LSh.Imm(asm.R3, 20), asm.Mov.Reg(asm.R0, asm.R1), asm.Or.Reg(asm.R0, asm.R2), asm.Or.Reg(asm.R0, asm.R3),
		asm.Return().WithSymbol("end"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := b.shared.Programs.Put(uint32(classifierProgramPROGRAM_AGAIN), again); err != nil {
		t.Fatal(err)
	}
	return b
}

// put puts chains in the place of those before.
func (b *bed) put(chains ...Chain) {
	b.t.Helper()
	for i := range chains {
		for j := range chains[i].Steps {
			step := &chains[i].Steps[j]
			step.Name = fmt.Sprintf("%s/%d", chains[i].Name, j)
		}
	}
	b.made.Close()
	var err error
	if b.made, err = Build(chains, b.shared, 1, &b.states); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(b.made.Close)
	b.states.Keep()
	for i, program := range b.made.Chains {
		if err := b.shared.Chains.Put(uint32(i+1), program); err != nil {
			b.t.Fatal(err)
		}
	}
}

// ask runs a packet through a program: the classifier, or a chain's by its number.
func (b *bed) ask(program *ebpf.Program, p classifierNfPacket) said {
	b.t.Helper()
	each := make([]classifierNfPacket, ebpf.MustPossibleCPU())
	for i := range each {
		each[i] = p
	}
	if err := b.shared.Packets.Put(uint32(0), each); err != nil {
		b.t.Fatal(err)
	}
	value, err := program.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	if err != nil {
		b.t.Fatal(err)
	}
	return said{classifierNfVerdict(value & 0xff), value >> 8 & 0xfff, value >> 20}
}

func (b *bed) classify(p classifierNfPacket) said {
	b.t.Helper()
	return b.ask(b.made.Classifier, p)
}

func (b *bed) count(number uint32) (all classifierNfCount) {
	b.t.Helper()
	var each []classifierNfCount
	if err := b.shared.Counts.Lookup(number, &each); err != nil {
		b.t.Fatal(err)
	}
	for _, c := range each {
		all.Seen += c.Seen
		all.Failed += c.Failed
		all.Samples += c.Samples
		all.Ns += c.Ns
		all.Lost += c.Lost
	}
	return all
}
