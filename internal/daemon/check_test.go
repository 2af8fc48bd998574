package daemon

import (
	"fmt"
	"strings"
	"testing"
)

// What reload would refuse, check refuses with the same words.
func TestCheckSeesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	many := text + "chains:\n"
	for i := range 1024 {
		many += fmt.Sprintf("  - {name: c%d}\n", i)
	}
	counted := text + "chains:\n"
	for i := range 52 {
		counted += fmt.Sprintf("  - {name: c%d, functions: [", i)
		for j := range 10 {
			counted += fmt.Sprintf("{use: filter, name: f%d}, ", j)
		}
		counted += "]}\n"
	}
	for file, want := range map[string]string{
		withChains: "", many: "chains: 1024 of them: at most 1023", counted: "more than 511 functions in all",
		text + "outbound: {addresses: [198.18.0.2]}\nchains: [{name: a, match: {direction: in, to: 198.18.0.2, protocol: udp, port: 1-4097}, functions: [{use: dnat, to: 10.0.0.9}]}]": "4097 ports of outbound",
		text + "chains: [{name: a}, {name: deep, functions: [{use: filter, deny: [" + nested() + "]}]}]":                                                                               "chains: function deep/filter: more than 14 different",
		text + "chains: [{name: a}, {name: jump, functions: [{use: jump, chain: a, when: [" + nested() + "]}]}]":                                                                       "chains: function jump/jump: more than 14 different",
		text + "chains: [{name: a, match: {from: 1.0.0.0/8}}" + matches() + "]":                                                                                                        "chains: more than 14 different",
	} {
		err := Check(document(t, file))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// nested are prefixes of which more hold at once than a filter may have.
func nested() string {
	var list []string
	for bits := 1; bits <= 16; bits++ {
		list = append(list, fmt.Sprintf("128.0.0.0/%d", bits))
	}
	return strings.Join(list, ", ")
}

// matches are as many chains as nested has prefixes.
func matches() (list string) {
	for i, p := range strings.Split(nested(), ", ") {
		list += fmt.Sprintf(", {name: m%d, match: {from: %s}}", i, p)
	}
	return list
}
