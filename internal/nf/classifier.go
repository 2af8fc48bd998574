package nf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// classifier makes the program that finds the chain of a packet: the value of the first
// rule that matches is the number of its program. Each hook has one at place.
func classifier(rules []Rule, shared Shared, hooks []*hook, place func(*Set) **ebpf.Program) error {
	list, err := compile(rules)
	if err != nil {
		return err
	}
	spec, err := loadClassifier()
	if err != nil {
		return fmt.Errorf("read the classifier: %w", err)
	}
	own, err := list.own(spec, shared)
	if err != nil {
		return err
	}
	defer closeMaps(own)
	program := "classifier"
	if list.asksSourcePorts() {
		program = "classifier_ports"
	}
	for _, h := range hooks {
		if *place(&h.made), err = h.load(spec.Copy(), program, shared, own); err != nil {
			return fmt.Errorf("load the classifier: %w", err)
		}
	}
	return nil
}
