package chain

import (
	"fmt"
	"maps"

	"github.com/cilium/ebpf"
)

// classifier makes the program that finds the chain of a packet: the value of the first
// rule that matches is the number of its program.
func classifier(rules []Rule, shared Shared) (program *ebpf.Program, err error) {
	list, err := compile(rules)
	if err != nil {
		return nil, err
	}
	spec, err := loadClassifier()
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	own, err := list.own(spec, shared)
	if err != nil {
		return nil, err
	}
	defer closeMaps(own)
	all := maps.Clone(own)
	for name := range spec.Maps {
		if m := shared.find(name); m != nil {
			all[name] = m
		}
	}
	var objects struct {
		Program *ebpf.Program `ebpf:"classifier"`
	}
	if err := spec.LoadAndAssign(&objects, &ebpf.CollectionOptions{MapReplacements: all}); err != nil {
		return nil, fmt.Errorf("load the classifier: %w", err)
	}
	return objects.Program, nil
}
