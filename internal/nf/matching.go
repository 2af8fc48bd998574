package nf

import "fmt"

// Matching compiles a function that says the value of the first rule that matches, and "continue" where none does.
func Matching(rules []Rule, c Context) (p Compiled, err error) {
	list, err := compile(rules)
	if err != nil {
		return p, err
	}
	spec, err := loadMatching()
	if err != nil {
		return p, fmt.Errorf("read what matches rules: %w", err)
	}
	if p.Maps, err = list.own(spec, c.Shared); err != nil {
		return p, err
	}
	program := "nf_matching"
	if list.asksSourcePorts() {
		program = "nf_matching_ports"
	}
	err = p.Take(spec.Programs[program], c)
	return p, err
}

// CheckRules says whether rules can be compiled.
func CheckRules(rules []Rule) error {
	_, err := compile(rules)
	return err
}
