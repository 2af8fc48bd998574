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

// Check says whether a policy can be compiled, as far as can be told without the kernel.
func Check(policy Policy) error {
	var rules, static []Rule
	for _, c := range policy.Chains {
		if c.Static {
			static = append(static, c.Rules...)
		} else {
			rules = append(rules, c.Rules...)
		}
		for _, s := range c.Steps {
			f, limited := s.Function.(checker)
			if !limited {
				continue
			}
			if err := f.check(); err != nil {
				return fmt.Errorf("chains: function %s: %w", s.Name, err)
			}
		}
	}
	for _, classified := range [][]Rule{rules, static} {
		if _, err := compile(classified); err != nil {
			return fmt.Errorf("chains: %w", err)
		}
	}
	return nil
}
