package nf

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// IsShared reports whether a map of a function is one that the gateway gives it.
func IsShared(name string) bool { return name == "nf_packets" }

// SharedMap is what a map is that the gateway gives functions.
func SharedMap(name string) (*ebpf.MapSpec, error) {
	spec, err := loadClassifier()
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	return spec.Maps[name], nil
}

// Check says whether a program can take it up.
func (o *Standalone) Check() error {
	_, err := inline(o.Main, o.Stack, func(ins asm.Instruction) (asm.Instruction, error) { return ins, nil })
	return err
}

// TakeStandalone fills in a function that is a program of its own. Maps and Kept have its maps; what it leaves is compared
// with what was before it.
func (p *Compiled) TakeStandalone(o *Standalone, c Context) (err error) {
	p.ownProgram = &ownProgram{licence: o.Licence, function: btf.FuncMetadata(&o.Main[0])}
	if p.leaves, err = leaving(p.Rewrites, c); err != nil {
		return err
	}
	p.stack = max(o.Stack, p.leaves.stack)
	end := len(o.Main)
	if p.body, p.ownProgram.calls, err = p.takeUp(o.Main, o.Calls, c.Shared); err != nil || o.Buffers == nil {
		return err
	}
	p.buffer, p.ownProgram.buffer, err = p.takeUp(o.Buffers[:end], o.Buffers[end:], c.Shared)
	return err
}

// takeUp is what a program takes up of a function, and of those that it calls.
func (p *Compiled) takeUp(main, calls asm.Instructions, shared Shared) (body, called asm.Instructions, err error) {
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
func (p *Compiled) describe(ins asm.Instruction, shared Shared) (asm.Instruction, error) {
	if ins.IsLoadFromMap() && !IsShared(ins.Reference()) && p.Kept[ins.Reference()] == nil {
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
