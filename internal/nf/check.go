package nf

import "fmt"

// Check implements Checker.
func (a Allowlist) Check() error {
	if _, err := a.Remote.compile(); err != nil {
		return err
	}
	_, err := a.Remote.compile6()
	return err
}

// Check says whether a policy can be compiled, as far as can be told without the kernel.
func Check(policy Policy) error {
	if err := checkSteps(policy.Protection); err != nil {
		return fmt.Errorf("protection: %w", err)
	}
	var rules, dnat []Rule
	for _, c := range policy.Chains {
		if c.Dnat {
			dnat = append(dnat, c.Rules...)
		} else {
			rules = append(rules, c.Rules...)
		}
		if err := checkSteps(c.Steps); err != nil {
			return fmt.Errorf("chains: %w", err)
		}
	}
	for _, classified := range [][]Rule{rules, dnat} {
		if _, err := compile(classified); err != nil {
			return fmt.Errorf("chains: %w", err)
		}
	}
	return nil
}

func checkSteps(steps []Step) error {
	for _, s := range steps {
		f, limited := s.Function.(Checker)
		if !limited {
			continue
		}
		if err := f.Check(); err != nil {
			return fmt.Errorf("function %s: %w", s.Name, err)
		}
	}
	return nil
}
