package dut

import (
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// nftablesText gathers what nft reads.
type nftablesText struct{ strings.Builder }

// nftablesRules writes the setup, a rule for each address or with sets and maps.
func nftablesRules(s bench.Setup, sets bool) string {
	t := &nftablesText{}
	t.WriteString("table ip bench {\n")
	if sets {
		t.sets(s)
	}
	if s.NoTrack {
		t.chain("raw", "type filter hook prerouting priority raw", fmt.Sprintf("iifname %s notrack", bench.PrivateInterface))
	}
	if s.Mark {
		t.chain("mangle", "type filter hook prerouting priority mangle", fmt.Sprintf("iifname %s meta mark set 1", bench.PrivateInterface))
	}
	if s.DNAT.From.Count > 0 {
		t.chain("prerouting", "type nat hook prerouting priority dstnat", nftablesDNAT(s, sets)...)
	}
	if s.NAT != (trafficgen.Addresses{}) {
		t.chain("postrouting", "type nat hook postrouting priority srcnat", fmt.Sprintf("oifname %s snat to %s", bench.PublicInterface, span(s.NAT)))
	}
	t.forward(s, sets)
	t.WriteString("}\n")
	return t.String()
}

func (t *nftablesText) chain(name, hook string, rules ...string) {
	fmt.Fprintf(t, "chain %s {\n", name)
	if hook != "" {
		fmt.Fprintf(t, "%s;\n", hook)
	}
	for _, rule := range rules {
		fmt.Fprintf(t, "%s\n", rule)
	}
	t.WriteString("}\n")
}

func (t *nftablesText) sets(s bench.Setup) {
	if s.Deny.Count > 0 {
		t.set("set deny { type ipv4_addr", s.Deny.Count, func(i int) string { return s.Deny.At(i).String() })
	}
	if n := allowed(s); n > 0 {
		t.set("set allow { type ipv4_addr", n, func(i int) string { return destinations(i, 1).Addr().String() })
	}
	if n := s.DNAT.From.Count; n > 0 {
		t.set("map pool { type ipv4_addr : ipv4_addr", n, func(i int) string {
			return s.DNAT.From.At(i).String() + " : " + s.DNAT.Target(i).String()
		})
	}
}

func (t *nftablesText) set(head string, count int, element func(int) string) {
	elements := make([]string, count)
	for i := range elements {
		elements[i] = element(i)
	}
	fmt.Fprintf(t, "%s; elements = { %s }; }\n", head, strings.Join(elements, ", "))
}

func nftablesDNAT(s bench.Setup, sets bool) (rules []string) {
	if sets {
		return []string{"dnat to ip daddr map @pool"}
	}
	for i := range s.DNAT.From.Count {
		rules = append(rules, fmt.Sprintf("ip daddr %s dnat to %s", s.DNAT.From.At(i), s.DNAT.Target(i)))
	}
	return rules
}

// forward has the order of Kadlecsik and Pásztor: established sessions, what is denied, new
// sessions. Without anything to filter there is no such chain.
func (t *nftablesText) forward(s bench.Setup, sets bool) {
	var rules []string
	if s.Track {
		rules = append(rules, "ct state established,related accept")
	}
	if sets && s.Deny.Count > 0 {
		rules = append(rules, "ip daddr @deny drop")
	} else {
		for i := range s.Deny.Count {
			rules = append(rules, fmt.Sprintf("ip daddr %s drop", s.Deny.At(i)))
		}
	}
	if s.Track {
		rules = append(rules, "ct state new accept")
	}
	policy := "accept"
	if allowed(s) > 0 {
		policy = "drop"
		rules = append(rules, t.allow(s, sets)...)
	}
	if len(rules) > 0 {
		t.chain("forward", "type filter hook forward priority filter; policy "+policy, rules...)
	}
}

// allow writes the chains of what is allowed, and returns the rules that are in the
// first.
func (t *nftablesText) allow(s bench.Setup, sets bool) []string {
	if sets {
		return []string{"ip daddr @allow accept"}
	}
	rules := arrange(s, "forward")
	byChain := map[string][]string{}
	for _, r := range rules {
		verdict, match := "accept", ""
		if r.next != "" {
			verdict = "jump " + r.next
		}
		if r.match.IsValid() {
			match = fmt.Sprintf("ip daddr %s ", r.match)
		}
		byChain[r.chain] = append(byChain[r.chain], match+verdict)
	}
	// A chain must stand before the rules that lead to it.
	for _, chain := range slices.Backward(chains(rules)) {
		t.chain(chain, "", byChain[chain]...)
	}
	return byChain["forward"]
}
