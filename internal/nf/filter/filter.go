package filter

import "github.com/realmgate/realmgate/internal/nf"

// Filter drops what Deny matches and, unless Allow is empty, what no rule of Allow
// matches.
type Filter struct{ Deny, Allow []nf.Rule }

func (f Filter) rules() (list []nf.Rule) {
	add := func(rules []nf.Rule, verdict nf.Verdict) {
		for _, r := range rules {
			r.Value = uint32(verdict)
			list = append(list, r)
		}
	}
	add(f.Deny, nf.Drop)
	if len(f.Allow) > 0 {
		add(f.Allow, nf.Continue)
		add([]nf.Rule{{}}, nf.Drop)
	}
	return list
}

// SeesEveryPacket implements nf.Function.
func (f Filter) SeesEveryPacket() bool { return false }

// Check implements nf.Checker.
func (f Filter) Check() error { return nf.CheckRules(f.rules()) }

// Compile implements nf.Function.
func (f Filter) Compile(c nf.Context) (nf.Compiled, error) { return nf.Matching(f.rules(), c) }
