package object

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/realmgate/realmgate/internal/nf"
)

// Object is a user's own function: a compiled object with one XDP program, which
// includes bpf/include/nf.h. It is a program of its own.
type Object struct {
	Code        []byte
	Rewrites    bool // it may change the packet
	EveryPacket bool
}

// SeesEveryPacket implements Function.
func (o Object) SeesEveryPacket() bool { return o.EveryPacket }

// object is what is in an Object.
type object struct {
	nf.Standalone
	maps map[string]*ebpf.MapSpec // its own, as far as it uses them
}

// read takes an object apart, and refuses what no chain can have. The kernel has its
// word later.
func (o Object) read() (*object, error) {
	if err := checkELF(o.Code); err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(o.Code))
	if err != nil {
		return nil, fmt.Errorf("read it (is it built with clang -g?): %w", err)
	}
	one := []byte{1, 0}
	if spec.ByteOrder.Uint16(one) != binary.NativeEndian.Uint16(one) {
		return nil, errors.New("it is compiled for the other byte order: build it with clang -target bpf on this machine")
	}
	program, err := onlyProgram(spec)
	if err != nil {
		return nil, err
	}
	list := program.Instructions
	if len(list) == 0 || len(list) > nf.MostInstructions {
		return nil, fmt.Errorf("it has %d instructions: want 1 to %d", len(list), nf.MostInstructions)
	}
	end := 1 + slices.IndexFunc(list[1:], func(ins asm.Instruction) bool { return ins.Symbol() != "" })
	if end == 0 {
		end = len(list)
	}
	got := &object{Standalone: nf.Standalone{Main: list[:end], Calls: list[end:], Licence: program.License}}
	if got.maps, err = ownMaps(spec, list); err != nil {
		return nil, err
	}
	if err := checkInstructions(list); err != nil {
		return nil, err
	}
	followed, err := follow(list)
	if err != nil {
		return nil, err
	}
	if err := permit(list, followed, o.Rewrites); err != nil {
		return nil, err
	}
	if got.Buffers, err = forBuffers(list, followed); err != nil {
		return nil, err
	}
	got.Stack = stackOf(got.Main)
	return got, got.Check()
}

// checkELF refuses what is no object, and one that says of few bytes that they are many.
func checkELF(code []byte) error {
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return fmt.Errorf("it is not a compiled object (ELF), build it with clang -target bpf: %w", err)
	}
	for _, section := range file.Sections {
		if section.Size > mostMemory {
			return fmt.Errorf("its section %s takes %d MiB: at most %d", section.Name, section.Size>>20, mostMemory>>20)
		}
	}
	return nil
}

// onlyProgram is the XDP program of an object that has no other.
func onlyProgram(spec *ebpf.CollectionSpec) (*ebpf.ProgramSpec, error) {
	names := slices.Sorted(maps.Keys(spec.Programs))
	if len(names) != 1 {
		return nil, fmt.Errorf(`it has %d programs (%s): a function is one, marked SEC("xdp")`, len(names), strings.Join(names, ", "))
	}
	program := spec.Programs[names[0]]
	if program.Type != ebpf.XDP || program.AttachType != ebpf.AttachXDP || program.Flags != 0 {
		return nil, fmt.Errorf(`its program %s is marked SEC("%s"): mark it SEC("xdp")`, names[0], program.SectionName)
	}
	return program, nil
}

// checkInstructions refuses what no compiler makes, and calls of what is not there.
func checkInstructions(list asm.Instructions) error {
	functions := map[string]bool{}
	for _, ins := range list {
		functions[ins.Symbol()] = ins.Symbol() != ""
	}
	for i, ins := range list {
		if ins.IsFunctionReference() && !functions[ins.Reference()] {
			return fmt.Errorf("it calls %q, which is not in it", ins.Reference())
		}
		if btf.CORERelocationMetadata(&ins) != nil { // what it does would be known only when it is loaded
			return fmt.Errorf("it depends on the layout of a type of the kernel (CO-RE): a function sees the packet and nf_packet alone%s", where(list, i))
		}
		if max(ins.Dst, ins.Src) > asm.R10 {
			return fmt.Errorf("it has an instruction that no machine has: %v", ins)
		}
	}
	return nil
}

// Check reports what is wrong with an object, as far as can be told without the kernel.
func (o Object) Check() error {
	_, err := o.read()
	return err
}

// Compile implements nf.Function. It keeps the object's maps for as long as it stays the same. Nothing tells that it
// leaves them alone in a trial.
func (o Object) Compile(c nf.Context) (p nf.Compiled, err error) {
	got, err := o.read()
	if err != nil {
		return p, err
	}
	p.Kept = map[string]*ebpf.Map{}
	for _, known := range slices.Sorted(maps.Keys(got.maps)) {
		table := fmt.Sprintf("%s, %s of object %x", c.Name, known, sha256.Sum256(o.Code))
		if p.Kept[known], err = c.States.Written(table, got.maps[known]); err != nil {
			return p, fmt.Errorf("map %s: %w", known, err)
		}
	}
	p.ToUser, p.Rewrites = true, o.Rewrites
	err = p.TakeStandalone(&got.Standalone, c)
	return p, err
}
