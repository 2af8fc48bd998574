package dut

import (
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// iptablesTable is a table in the words of iptables-restore.
type iptablesTable struct {
	name  string
	lines []string
}

// iptablesRules writes the setup: the tables that it needs. With sets, the
// addresses denied and allowed are looked up in the sets of those names.
func iptablesRules(s bench.Setup, sets bool) (tables []iptablesTable) {
	for _, table := range []iptablesTable{
		{"raw", iptablesRaw(s)}, {"mangle", iptablesMangle(s)}, {"nat", iptablesNAT(s)}, {"filter", iptablesFilter(s, sets)},
	} {
		if len(table.lines) > 0 {
			tables = append(tables, table)
		}
	}
	return tables
}

// iptablesText is what iptables-restore reads.
func iptablesText(tables []iptablesTable) string {
	var text strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&text, "*%s\n%s\nCOMMIT\n", table.name, strings.Join(table.lines, "\n"))
	}
	return text.String()
}

// iptablesEmpty empties the tables.
func iptablesEmpty(tables []iptablesTable) string {
	var text strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&text, "*%s\nCOMMIT\n", table.name)
	}
	return text.String()
}

func iptablesRaw(s bench.Setup) []string {
	if !s.NoTrack {
		return nil
	}
	return []string{fmt.Sprintf("-A PREROUTING -i %s -j CT --notrack", bench.PrivateInterface)}
}

func iptablesMangle(s bench.Setup) []string {
	if !s.Mark {
		return nil
	}
	return []string{fmt.Sprintf("-A PREROUTING -i %s -j MARK --set-mark 1", bench.PrivateInterface)}
}

func iptablesNAT(s bench.Setup) (lines []string) {
	for i := range s.DNAT.From.Count {
		lines = append(lines, fmt.Sprintf("-A PREROUTING -d %s -j DNAT --to-destination %s", s.DNAT.From.At(i), s.DNAT.Target(i)))
	}
	if s.NAT != (trafficgen.Addresses{}) {
		lines = append(lines, fmt.Sprintf("-A POSTROUTING -o %s -j SNAT --to-source %s", bench.PublicInterface, span(s.NAT)))
	}
	return lines
}

// iptablesFilter has the order of Kadlecsik and Pásztor: established sessions, what is denied,
// new sessions.
func iptablesFilter(s bench.Setup, sets bool) (lines []string) {
	if s.Track {
		lines = append(lines, "-A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT")
	}
	if sets && s.Deny.Count > 0 {
		lines = append(lines, "-A FORWARD -m set --match-set deny dst -j DROP")
	} else {
		for i := range s.Deny.Count {
			lines = append(lines, fmt.Sprintf("-A FORWARD -d %s -j DROP", s.Deny.At(i)))
		}
	}
	if s.Track {
		lines = append(lines, "-A FORWARD -m conntrack --ctstate NEW -j ACCEPT")
	}
	return append(lines, iptablesAllow(s, sets)...)
}

func iptablesAllow(s bench.Setup, sets bool) []string {
	if allowed(s) == 0 {
		return nil
	}
	lines := []string{":FORWARD DROP [0:0]"}
	if sets {
		return append(lines, "-A FORWARD -m set --match-set allow dst -j ACCEPT")
	}
	rules := arrange(s, "FORWARD")
	for _, chain := range chains(rules) {
		lines = append(lines, fmt.Sprintf(":%s - [0:0]", chain))
	}
	for _, r := range rules {
		switch {
		case !r.match.IsValid():
			lines = append(lines, fmt.Sprintf("-A %s -j %s", r.chain, r.next))
		case r.next == "":
			lines = append(lines, fmt.Sprintf("-A %s -d %s -j ACCEPT", r.chain, r.match))
		default:
			lines = append(lines, fmt.Sprintf("-A %s -d %s -j %s", r.chain, r.match, r.next))
		}
	}
	return lines
}
