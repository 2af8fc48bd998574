package chain

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
	main, calls asm.Instructions
	buffers     asm.Instructions // main and calls, for socket buffers
	stack       int              // that main uses, bytes
	licence     string
	maps        map[string]*ebpf.MapSpec // its own, as far as it uses them
}

// isShared reports whether a map of an object is one that the gateway gives it.
func isShared(name string) bool { return name == "nf_packets" || name == "nf_counts" }

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
	if len(list) == 0 || len(list) > mostInstructions {
		return nil, fmt.Errorf("it has %d instructions: want 1 to %d", len(list), mostInstructions)
	}
	end := 1 + slices.IndexFunc(list[1:], func(ins asm.Instruction) bool { return ins.Symbol() != "" })
	if end == 0 {
		end = len(list)
	}
	got := &object{main: list[:end], calls: list[end:], licence: program.License}
	if got.maps, err = ownMaps(spec, list); err != nil {
		return nil, err
	}
	if err := checkInstructions(list); err != nil {
		return nil, err
	}
	states := trace(list)
	if err := permit(list, states, o.Rewrites); err != nil {
		return nil, err
	}
	if got.buffers, err = forBuffers(list, states); err != nil {
		return nil, err
	}
	got.stack = stackOf(got.main, states)
	_, err = inline(got.main, got.stack, func(ins asm.Instruction) (asm.Instruction, error) { return ins, nil })
	return got, err
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

// check reports what is wrong with an object, as far as can be told without the kernel.
func (o Object) check() error {
	_, err := o.read()
	return err
}

// compile keeps the object's maps for as long as it stays the same. Nothing tells that it
// leaves them alone in a trial.
func (o Object) compile(name string, shared Shared, states *States) (p piece, err error) {
	got, err := o.read()
	if err != nil {
		return p, err
	}
	p.kept = map[string]*ebpf.Map{}
	for _, known := range slices.Sorted(maps.Keys(got.maps)) {
		table := fmt.Sprintf("%s, %s of object %x", name, known, sha256.Sum256(o.Code))
		if p.kept[known], err = states.written(table, got.maps[known]); err != nil {
			return p, fmt.Errorf("map %s: %w", known, err)
		}
	}
	own := &alone{licence: got.licence, function: btf.FuncMetadata(&got.main[0])}
	p.stack = got.stack
	end := len(got.main)
	if p.body, own.calls, err = p.takeUp(got.main, got.calls, shared); err != nil {
		return p, err
	}
	if p.buffer, own.buffer, err = p.takeUp(got.buffers[:end], got.buffers[end:], shared); err != nil {
		return p, err
	}
	p.alone, p.tells, p.changes = own, true, o.Rewrites
	return p, nil
}

// takeUp is what a program takes up of a function, and of those that it calls.
func (p *piece) takeUp(main, calls asm.Instructions, shared Shared) (body, called asm.Instructions, err error) {
	if body, err = inline(main, p.stack, func(ins asm.Instruction) (asm.Instruction, error) { return p.describe(ins, shared) }); err != nil {
		return nil, nil, err
	}
	for _, ins := range calls {
		made, err := p.describe(ins, shared)
		if err != nil {
			return nil, nil, err
		}
		if ins.Symbol() != "" {
			made = made.WithSymbol(ins.Symbol())
			if f := btf.FuncMetadata(&ins); f != nil {
				made = btf.WithFuncMetadata(made, f)
			}
		}
		called = append(called, made)
	}
	return body, called, nil
}

// describe is link, with what the compiler says of the instruction: the line of its
// source, and which function it means.
func (p *piece) describe(ins asm.Instruction, shared Shared) (asm.Instruction, error) {
	if ins.IsLoadFromMap() && !isShared(ins.Reference()) && p.kept[ins.Reference()] == nil {
		return ins, fmt.Errorf("it has no map %q", ins.Reference())
	}
	made, err := p.link(ins, shared)
	if err != nil {
		return made, err
	}
	made = made.WithSource(ins.Source())
	if ins.IsFunctionReference() {
		made = made.WithReference(ins.Reference())
	}
	return made, nil
}
