package chain

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// own makes the maps that a program has for itself: those of the tables filled with
// them, others as the specification says. shared are those that it has in common with
// others.
func (t *tables) own(spec *ebpf.CollectionSpec, shared Shared) (made map[string]*ebpf.Map, err error) {
	made = map[string]*ebpf.Map{}
	defer func() {
		if err != nil {
			closeMaps(made)
		}
	}()
	filled := map[string]contents{
		"rules_sizes": arrayOf([]classifierRulesSize{t.size}), "rules_shapes": arrayOf(t.shapes),
		"rules_sources": arrayOf(t.sources), "rules_destinations": arrayOf(t.destinations), "rules_services": arrayOf(t.services),
		"rules_table": hashOf(t.rules),
	}
	for name, m := range spec.Maps {
		if shared.find(name) != nil {
			continue
		}
		if c, known := filled[name]; known {
			made[name], err = c.create(m)
		} else {
			made[name], err = ebpf.NewMap(m)
		}
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
	}
	return made, nil
}

func closeMaps(maps map[string]*ebpf.Map) {
	for _, m := range maps {
		_ = m.Close() // programs that use it keep it
	}
}

// contents is what a map is made for.
type contents struct {
	keys, values any
	count        int
}

func arrayOf[T any](values []T) contents {
	keys := make([]uint32, len(values))
	for i := range keys {
		keys[i] = uint32(i)
	}
	return contents{keys, values, len(values)}
}

func hashOf[K comparable, V any](entries map[K]V) contents {
	keys, values := make([]K, 0, len(entries)), make([]V, 0, len(entries))
	for k, v := range entries {
		keys, values = append(keys, k), append(values, v)
	}
	return contents{keys, values, len(entries)}
}

// create makes a map of just the size, and of one entry where there is nothing. spec
// then says so.
func (c contents) create(spec *ebpf.MapSpec) (*ebpf.Map, error) {
	spec.MaxEntries = uint32(max(c.count, 1))
	m, err := ebpf.NewMap(spec)
	if err != nil || c.count == 0 {
		return m, err
	}
	if _, err := m.BatchUpdate(c.keys, c.values, nil); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}
