package jump

import "github.com/realmgate/realmgate/internal/nf"

// Jump lets flows that match a rule of When go on in the chain that its step names; without
// rules all do.
type Jump struct{ When []nf.Rule }

func (j Jump) rules() []nf.Rule {
	rules := make([]nf.Rule, len(j.When))
	copy(rules, j.When)
	if len(rules) == 0 {
		rules = []nf.Rule{{}}
	}
	for i := range rules {
		rules[i].Value = uint32(nf.JumpTo)
	}
	return rules
}

// SeesEveryPacket implements nf.Function.
func (Jump) SeesEveryPacket() bool { return false }

// Check implements nf.Checker.
func (j Jump) Check() error { return nf.CheckRules(j.rules()) }

// Compile implements nf.Function.
func (j Jump) Compile(c nf.Context) (nf.Compiled, error) { return nf.Matching(j.rules(), c) }
