package chain

import "fmt"

// checker is a function that may not fit.
type checker interface{ check() error }

func (f Filter) check() error {
	_, err := compile(f.rules())
	return err
}

func (j Jump) check() error {
	_, err := compile(j.When)
	return err
}

func (a Allowlist) check() error {
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
	var rules, static []Rule
	for _, c := range policy.Chains {
		if c.Static {
			static = append(static, c.Rules...)
		} else {
			rules = append(rules, c.Rules...)
		}
		if err := checkSteps(c.Steps); err != nil {
			return fmt.Errorf("chains: %w", err)
		}
	}
	for _, classified := range [][]Rule{rules, static} {
		if _, err := compile(classified); err != nil {
			return fmt.Errorf("chains: %w", err)
		}
	}
	return nil
}

func checkSteps(steps []Step) error {
	for _, s := range steps {
		f, limited := s.Function.(checker)
		if !limited {
			continue
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("function %s: %w", s.Name, err)
		}
	}
	return nil
}
