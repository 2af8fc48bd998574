package nf

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// The kernel verifies the look-up of a mask as often as there are masks, and not as often as there may be; the rule of the
// last one is found.
func TestVerifiedOncePerMask(t *testing.T) {
	t.Parallel()
	nested := func(prefixes int) (list []Rule) {
		for i := range prefixes { // each of a level of its own: a mask with the service, and one without
			source := netip.PrefixFrom(netip.MustParseAddr("10.255.255.0"), 24-i).Masked()
			list = append(list, Rule{Source: source, Protocol: model.UDP, Ports: model.Ports{First: 53, Last: 53}}, Rule{Source: source, Protocol: model.TCP})
		}
		return list
	}
	verified := func(rules []Rule) uint32 {
		last := rules[len(rules)-1]
		flow := Flow{Direction: model.In, Source: last.Source.Addr(), Destination: netip.MustParseAddr("10.0.0.100"), Protocol: model.TCP, Port: 80}
		w := newWalk(t, mustCompile(t, rules), []Flow{flow})
		if found := w.ask(); found != len(rules) {
			t.Errorf("of %d rules that of %v is %d, want the last", len(rules), flow, found)
		}
		info, err := w.program.Info()
		if err != nil {
			t.Fatal(err)
		}
		n, known := info.VerifiedInstructions()
		if !known {
			t.Fatal("the kernel does not say how many instructions it verified")
		}
		return n
	}
	few, many := verified(nested(1)), verified(nested(int(classifierRulesLimitRULES_LEVELS)))
	if few*2 > many {
		t.Errorf("with 1 level %d instructions are verified, with %d levels %d: want less than half", few, int(classifierRulesLimitRULES_LEVELS), many)
	}
	t.Logf("verified: %d and %d", few, many)
}
