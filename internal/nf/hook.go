package nf

import (
	"cmp"
	"errors"
	"maps"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// hook is what programs are loaded for: a policy's are, for each.
type hook struct {
	kind   ebpf.ProgramType
	attach ebpf.AttachType
	buffer bool      // packets are socket buffers
	chains *ebpf.Map // its programs, by their numbers
	memory *memory   // of all hooks
	made   Set
}

// hooksOf are those that there is a table for.
func hooksOf(shared Shared) (hooks []*hook) {
	all := &memory{counted: map[*ebpf.Map]bool{}}
	if shared.Chains != nil {
		hooks = append(hooks, &hook{kind: ebpf.XDP, attach: ebpf.AttachXDP, chains: shared.Chains, memory: all})
	}
	if shared.TCXChains != nil {
		hooks = append(hooks, &hook{kind: ebpf.SchedCLS, buffer: true, chains: shared.TCXChains, memory: all})
	}
	return hooks
}

// body is what a program for the hook takes up of a function.
func (h *hook) body(p *Compiled) asm.Instructions {
	if h.buffer && p.buffer != nil {
		return p.buffer
	}
	return p.body
}

// load loads the program of an object over the maps that it shares, and those of own.
func (h *hook) load(spec *ebpf.CollectionSpec, program string, shared Shared, own map[string]*ebpf.Map) (*ebpf.Program, error) {
	p := spec.Programs[program]
	p.Type, p.AttachType = h.kind, h.attach
	used, alone := map[string]*ebpf.Map{}, map[string]*ebpf.Map{}
	for _, ins := range p.Instructions {
		name := ins.Reference()
		if m := cmp.Or(own[name], shared.find(name)); m != nil && ins.IsLoadFromMap() {
			used[name] = m
		}
	}
	if used["chains"] != nil {
		used["chains"] = h.chains
	}
	maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool { return name != program })
	maps.DeleteFunc(spec.Maps, func(name string, _ *ebpf.MapSpec) bool { return used[name] == nil && name[0] != '.' })
	made, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: used})
	if err != nil {
		return nil, err
	}
	defer made.Close()
	for _, ins := range p.Instructions {
		name := ins.Reference()
		if table := made.Maps[name]; table != nil && (used[name] == nil || own[name] != nil) {
			alone[name] = cmp.Or(own[name], table)
		}
	}
	if err := errors.Join(h.memory.program(made.Programs[program]), h.memory.tables(alone)); err != nil {
		return nil, err
	}
	return made.DetachProgram(program), nil
}
