package chain

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

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

func (f Filter) compile(shared Shared) (asm.Instructions, map[string]*ebpf.Map, error) {
	t, err := compile(f.rules())
	if err != nil {
		return nil, nil, err
	}
	spec, err := loadFilter()
	if err != nil {
		return nil, nil, fmt.Errorf("read filter: %w", err)
	}
	own, err := t.own(spec, shared)
	if err != nil {
		return nil, nil, err
	}
	body, err := inline(spec.Programs["nf_filter"].Instructions, func(name string) *ebpf.Map {
		if m := own[name]; m != nil {
			return m
		}
		return shared.find(name)
	})
	if err != nil {
		return nil, own, fmt.Errorf("filter: %w", err)
	}
	return body, own, nil
}
