package config

import (
	"fmt"
	"strings"
	"testing"
)

// A list that is too long is told at the first entry too many, by its path, and nothing is told of those that follow in it.
func TestListsHaveAtMostSoMany(t *testing.T) {
	t.Parallel()
	least := "interfaces: {public: [eth0], private: [eth1]}\nrealm: {zones: [foo.example.], nameserver: ns.elsewhere.example.}\n" +
		"dns: {public: 198.18.0.1, private: 10.0.0.1}\npool: {addresses: [198.18.0.32]}\n"
	const firstLine = 6
	for _, l := range []struct {
		path, before, after string
		most                int
		entry               func(i int) string
	}{
		{"bans.regions", "bans: {regions: [", "]}", 1024, func(i int) string { return fmt.Sprintf("{region: asn:%d, factor: 2}", i+1) }},
		{"events", "events: [", "]", 16, func(i int) string { return fmt.Sprintf("{name: s%d, file: /x}", i) }},
		{"log.sinks", "log: {sinks: [", "]}", 8, func(i int) string { return fmt.Sprintf("{name: s%d, directory: /x%d}", i, i) }},
		{"jails", "jails: [", "]", 64, func(i int) string { return fmt.Sprintf("{name: j%d, file: /x, patterns: [sshd]}", i) }},
		{"jails[0].patterns", "jails: [{name: j, file: /x, patterns: [", "]}]", 16, func(int) string { return "sshd" }},
		{"lists", "lists: [", "]", 64, func(i int) string { return fmt.Sprintf("{name: l%d, url: 'https://lists.example/x'}", i) }},
		{"outbound.except", "outbound: {except: [", "]}", 64, func(i int) string { return fmt.Sprintf("100.64.%d.0/24", i) }},
		{"sets", "sets: [", "]", 256, func(i int) string { return fmt.Sprintf("{name: s%d, addresses: [192.0.2.1]}", i) }},
		{"chains[0].functions[0].backends", "chains: [{name: c, match: {direction: in, to: 198.18.0.4}, functions: [{use: multipath, backends: [", "]}]}]", 64,
			func(i int) string { return fmt.Sprintf("{to: 10.0.1.%d}", i+1) }},
	} {
		list := least + l.before + "\n"
		for i := range l.most {
			list += "  " + l.entry(i) + ",\n"
		}
		if _, err := Parse("x.yaml", []byte(list+"  "+l.after+"\n")); err != nil {
			t.Errorf("%s: of %d: %v", l.path, l.most, err)
		}
		list += "  " + l.entry(l.most) + ",\n  {}" + l.after + "\n"
		want := fmt.Sprintf("x.yaml:%d: %s: there are %d, at most %d are allowed", firstLine+l.most, l.path, l.most+2, l.most)
		if _, err := Parse("x.yaml", []byte(list)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", l.path, strings.SplitN(fmt.Sprint(err), "\n", 3), want)
		}
	}
}
