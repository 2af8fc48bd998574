package nf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// own makes the maps that a program has for itself: that of the nodes with them, others
// as the specification says. shared are those that it has in common with others.
func (list nodes) own(spec *ebpf.CollectionSpec, shared Shared) (made map[string]*ebpf.Map, err error) {
	made = map[string]*ebpf.Map{}
	defer func() {
		if err != nil {
			closeMaps(made)
		}
	}()
	for _, p := range spec.Programs {
		list.tellMasks(p)
	}
	for name, m := range spec.Maps {
		if shared.find(name) != nil {
			continue
		}
		if name == "rules_nodes" {
			made[name], err = ArrayOf(m, list)
		} else {
			made[name], err = ebpf.NewMap(m)
		}
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
	}
	return made, nil
}

// tellMasks has a program know how many masks the rules have (rules_masks of bpf/include/rules.h).
func (list nodes) tellMasks(p *ebpf.ProgramSpec) {
	for i := range p.Instructions {
		if ins := &p.Instructions[i]; ins.Constant == int64(classifierRulesLimitRULES_MASKS_ARE) && ins.OpCode.ALUOp() == asm.Mov {
			ins.Constant = int64(headOf(list[0]).Masks)
		}
	}
}

func closeMaps(maps map[string]*ebpf.Map) {
	for _, m := range maps {
		_ = m.Close() // programs that use it keep it
	}
}

// ArrayOf makes an array of values, of just the size, which spec then has.
func ArrayOf[T any](spec *ebpf.MapSpec, values []T) (*ebpf.Map, error) {
	spec.MaxEntries = uint32(len(values))
	m, err := ebpf.NewMap(spec)
	if err != nil {
		return nil, err
	}
	keys := make([]uint32, len(values))
	for i := range keys {
		keys[i] = uint32(i)
	}
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}
