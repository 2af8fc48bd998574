package chain

import "fmt"

// Filter is the function "filter": it drops what Deny matches and, unless Allow is
// empty, what no rule of Allow matches.
type Filter struct{ Deny, Allow []Rule }

func (f Filter) rules() (list []Rule) {
	add := func(rules []Rule, verdict classifierNfVerdict) {
		for _, r := range rules {
			r.Value = uint32(verdict)
			list = append(list, r)
		}
	}
	add(f.Deny, classifierNfVerdictNF_DROP)
	if len(f.Allow) > 0 {
		add(f.Allow, classifierNfVerdictNF_CONTINUE)
		add([]Rule{{}}, classifierNfVerdictNF_DROP)
	}
	return list
}

// SeesEveryPacket implements Function.
func (f Filter) SeesEveryPacket() bool { return false }

func (f Filter) compile(_ string, shared Shared, _ *States) (piece, error) {
	return matching(f.rules(), shared)
}

// matching makes the piece of a function that says the value of the first rule that
// matches, and "continue" where none does.
func matching(rules []Rule, shared Shared) (p piece, err error) {
	list, err := compile(rules)
	if err != nil {
		return p, err
	}
	spec, err := loadFilter()
	if err != nil {
		return p, fmt.Errorf("read filter: %w", err)
	}
	if p.maps, err = list.own(spec, shared); err != nil {
		return p, err
	}
	err = p.take(spec.Programs["nf_filter"], shared)
	return p, err
}
