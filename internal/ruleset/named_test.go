package ruleset

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]
`

// An entry of the protection may name a list, which is empty until it was fetched.
func TestProtectionNamesLists(t *testing.T) {
	d, err := config.NewDocument("test.yaml", []byte(text+`
lists: [{name: drop, url: "https://lists.example/drop.txt"}, {name: never, url: "https://lists.example/never.txt"}]
protection: {allowlist: [{list: never}], blocklist: [192.0.2.9, {list: drop, direction: in}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := d.Config
	set := model.NewAddressSet([]model.AddressRange{model.RangeOf(netip.MustParsePrefix("203.0.113.0/24"))})
	n := NamedIn(c, map[string]*model.AddressSet{"drop": set})
	listed := netip.MustParsePrefix("203.0.113.7/32")
	for d, want := range map[model.Direction]string{model.In: "list drop", model.Out: "", model.AnyDirection: "list drop"} {
		if got := n.OnList(c.Protection.Blocklist, d, listed); got != want {
			t.Errorf("flows %s are on %q, want %q", d, got, want)
		}
	}
	if in, out := n.unions(c.Protection.Blocklist, model.Ranges{}); !in.Contains(listed.Addr()) || out.Contains(listed.Addr()) {
		t.Errorf("blocked are %+v and %+v", in, out)
	}
	if in, _ := n.unions(c.Protection.Allowlist, model.Ranges{}); len(in.Ranges()) > 0 {
		t.Errorf("allowed are %+v", in)
	}
}

// A port that flows come from is of those alone that have ports: the pings of a service are not meant.
func TestSourcePortOfService(t *testing.T) {
	d, err := config.NewDocument("test.yaml", []byte(strings.Replace(text, "protocol: tcp, port: 80, to: 8080", "ports: [tcp/80, icmp]", 1)+`
chains: [{name: web, match: {service: www.hosta.foo.example., source_port: 1-1023}, functions: [{use: filter}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	policy := Rules{Config: d.Config}.Policy()
	want := []nf.Rule{{
		Direction: model.In, Destination: netip.MustParsePrefix("10.0.0.100/32"), Protocol: model.TCP,
		Ports: model.Ports{First: 80, Last: 80}, SourcePorts: model.Ports{First: 1, Last: 1023},
	}}
	if got := policy.Chains[0].Rules; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Functions keep their numbers where others come or go, and no two have the same.
func TestNumbersStay(t *testing.T) {
	of := func(functions ...string) Numbers {
		t.Helper()
		c := &config.Config{Chains: []settings.Chain{{Name: "web"}}}
		for _, name := range functions {
			c.Chains[0].Functions = append(c.Chains[0].Functions, settings.Function{Name: name})
		}
		n, err := NewNumbers(c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before, after := of("a", "b"), of("b", "c")
	if before["web/b"] != after["web/b"] || after["web/b"] == after["web/c"] || after["web/c"] == 0 {
		t.Errorf("%v became %v", before, after)
	}
}
