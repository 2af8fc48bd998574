package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files that a configuration names are part of what it means.
func TestDifferencesOfFiles(t *testing.T) {
	t.Parallel()
	path := folder(t, head+"sets: [{name: bad, file: bad.txt}]\n", nil)
	file := filepath.Join(filepath.Dir(path), "bad.txt")
	var read []*Document
	for _, text := range []string{"192.0.2.1\n", "192.0.2.1 # as before\n", "192.0.2.2\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, d)
	}
	if d := Differences(read[0], read[1]); len(d) > 0 {
		t.Errorf("a comment: %+v", d)
	}
	if d := Differences(read[1], read[2]); len(d) != 1 || d[0] != (Difference{"sets[bad].file", "bad.txt", "bad.txt, with other addresses"}) {
		t.Errorf("%+v", d)
	}
}

// What differs is told by what it means, whatever the texts are like.
func TestDifferences(t *testing.T) {
	t.Parallel()
	base := head + `hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services:
      - {name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}
      - {names: [git.foo.example.], ports: [tcp/22]}
chains:
  - {name: web, match: {port: 80, protocol: tcp}, functions: [{use: filter, deny: [203.0.113.0/24]}, {use: filter, name: late}]}
  - {name: out, match: {direction: out}}
`
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"nothing", "", "", nil},
		{"a comment", "hosts:", "# All of them.\nhosts:", nil},
		{"another form", "pool: {addresses: [198.18.0.32/28]}", "pool:\n  rest: 12m10s\n  addresses:\n    - 198.18.0.32/28", nil},
		{"a default", "dns: {", "dns: {verify: tcp, cache: 10000, ", nil},
		{"an order that means nothing", "interfaces: {public: [eth0], private: [eth1]}", "interfaces: {private: [eth1], public: [eth0]}", nil},
		{"a value", "[198.18.0.32/28]", "[198.18.0.32/28], rest: 60s", []string{"pool.rest: 730s > 60s"}},
		{"entries", "[198.18.0.32/28]", "[198.18.0.64/28, 198.18.0.5]", []string{
			"pool.addresses: 198.18.0.32/28 > ", "pool.addresses:  > 198.18.0.64/28", "pool.addresses:  > 198.18.0.5",
		}},
		{"a section", "hosts:", "web: {addresses: [198.18.0.80]}\nhosts:", []string{
			"web.addresses:  > 198.18.0.80", "web.ttl:  > 300s", "web.hello:  > 3s", "web.quic:  > false",
		}},
		{"a host", "  - name: hosta", "  - {name: hostb.foo.example., address: 10.0.0.101}\n  - name: hosta", []string{"hosts:  > hostb.foo.example."}},
		{"a port of a service", "tcp/22", "tcp/2222", []string{
			"hosts[hosta.foo.example.].services[git.foo.example.].ports: tcp/22 > ", "hosts[hosta.foo.example.].services[git.foo.example.].ports:  > tcp/2222",
		}},
		{"the other service", "      - {names: [git.foo.example.], ports: [tcp/22]}\n", "", []string{
			"hosts[hosta.foo.example.].services: git.foo.example. > ",
		}},
		{"the order of functions", "{use: filter, deny: [203.0.113.0/24]}, {use: filter, name: late}", "{use: filter, name: late}, {use: filter, deny: [203.0.113.0/24]}",
			[]string{"chains[web].functions: filter, late > late, filter"}},
		{"a function", "203.0.113.0/24", "203.0.113.0/25", []string{
			"chains[web].functions[filter].deny: 203.0.113.0/24 > ", "chains[web].functions[filter].deny:  > 203.0.113.0/25",
		}},
	} {
		text := strings.Replace(base, c.from, c.to, 1)
		var got []string
		for _, d := range Differences(document(t, base), document(t, text)) {
			got = append(got, fmt.Sprintf("%s: %s > %s", d.Key, d.Was, d.Is))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		for i, d := range Differences(document(t, text), document(t, base)) {
			if i >= len(c.want) {
				t.Errorf("%s, the other way: %+v", c.name, d)
			}
		}
	}
}
