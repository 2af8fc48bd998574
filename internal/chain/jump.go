package chain

// Jump is the function "jump": flows that match a rule of When go on in the chain that
// its step names; without rules all do.
type Jump struct{ When []Rule }

// SeesEveryPacket implements Function.
func (Jump) SeesEveryPacket() bool { return false }

func (j Jump) compile(name string, shared Shared, states *States) (piece, error) {
	rules := make([]Rule, len(j.When))
	copy(rules, j.When)
	if len(rules) == 0 {
		rules = []Rule{{}}
	}
	for i := range rules {
		rules[i].Value = uint32(classifierNfVerdictNF_JUMP)
	}
	return matching(rules, shared)
}
