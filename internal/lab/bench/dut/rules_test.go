package dut

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// addresses are count consecutive ones.
func addresses(first string, count int) trafficgen.Addresses {
	return trafficgen.Addresses{First: netip.MustParseAddr(first), Count: count}
}

func nested(selectors []int, rules int) (s bench.Setup) {
	s.Allow.Selectors, s.Allow.Rules = selectors, rules
	return s
}

var (
	snat = bench.Setup{NAT: addresses("198.18.0.1", 4)}
	dnat = bench.Setup{DNAT: trafficgen.DNAT{From: addresses("100.64.0.255", 2), To: netip.MustParseAddr("198.19.0.0")}}
	deny = bench.Setup{Track: true, Deny: addresses("100.80.0.1", 2)}
)

// Every setup, as each device would have it loaded.
var ruleTexts = []struct {
	name, iptables, ipset, sets, nftables, nftablesSet string
	setup                                              bench.Setup
}{
	{
		name: "plain", nftables: "table ip bench { }", nftablesSet: "table ip bench { }",
	},
	{
		name: "track", setup: bench.Setup{Track: true},
		iptables: "*filter -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT -A FORWARD -m conntrack --ctstate NEW -j ACCEPT COMMIT",
		ipset:    "*filter -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT -A FORWARD -m conntrack --ctstate NEW -j ACCEPT COMMIT",
		nftables: "table ip bench { chain forward { type filter hook forward priority filter; policy accept; " +
			"ct state established,related accept ct state new accept } }",
		nftablesSet: "table ip bench { chain forward { type filter hook forward priority filter; policy accept; " +
			"ct state established,related accept ct state new accept } }",
	},
	{
		name: "snat", setup: snat,
		iptables:    "*nat -A POSTROUTING -o eth0 -j SNAT --to-source 198.18.0.1-198.18.0.4 COMMIT",
		ipset:       "*nat -A POSTROUTING -o eth0 -j SNAT --to-source 198.18.0.1-198.18.0.4 COMMIT",
		nftables:    "table ip bench { chain postrouting { type nat hook postrouting priority srcnat; oifname eth0 snat to 198.18.0.1-198.18.0.4 } }",
		nftablesSet: "table ip bench { chain postrouting { type nat hook postrouting priority srcnat; oifname eth0 snat to 198.18.0.1-198.18.0.4 } }",
	},
	{
		name: "dnat", setup: dnat,
		iptables: "*nat -A PREROUTING -d 100.64.0.255 -j DNAT --to-destination 198.19.0.0 -A PREROUTING -d 100.64.1.0 -j DNAT --to-destination 198.19.0.1 COMMIT",
		ipset:    "*nat -A PREROUTING -d 100.64.0.255 -j DNAT --to-destination 198.19.0.0 -A PREROUTING -d 100.64.1.0 -j DNAT --to-destination 198.19.0.1 COMMIT",
		nftables: "table ip bench { chain prerouting { type nat hook prerouting priority dstnat; " +
			"ip daddr 100.64.0.255 dnat to 198.19.0.0 ip daddr 100.64.1.0 dnat to 198.19.0.1 } }",
		nftablesSet: "table ip bench { map pool { type ipv4_addr : ipv4_addr; elements = { 100.64.0.255 : 198.19.0.0, 100.64.1.0 : 198.19.0.1 }; } " +
			"chain prerouting { type nat hook prerouting priority dstnat; dnat to ip daddr map @pool } }",
	},
	{
		name: "mark", setup: bench.Setup{Mark: true},
		iptables:    "*mangle -A PREROUTING -i eth1 -j MARK --set-mark 1 COMMIT",
		ipset:       "*mangle -A PREROUTING -i eth1 -j MARK --set-mark 1 COMMIT",
		nftables:    "table ip bench { chain mangle { type filter hook prerouting priority mangle; iifname eth1 meta mark set 1 } }",
		nftablesSet: "table ip bench { chain mangle { type filter hook prerouting priority mangle; iifname eth1 meta mark set 1 } }",
	},
	{
		name: "notrack", setup: bench.Setup{NoTrack: true},
		iptables:    "*raw -A PREROUTING -i eth1 -j CT --notrack COMMIT",
		ipset:       "*raw -A PREROUTING -i eth1 -j CT --notrack COMMIT",
		nftables:    "table ip bench { chain raw { type filter hook prerouting priority raw; iifname eth1 notrack } }",
		nftablesSet: "table ip bench { chain raw { type filter hook prerouting priority raw; iifname eth1 notrack } }",
	},
	{
		name: "deny", setup: deny,
		iptables: "*filter -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT -A FORWARD -d 100.80.0.1 -j DROP " +
			"-A FORWARD -d 100.80.0.2 -j DROP -A FORWARD -m conntrack --ctstate NEW -j ACCEPT COMMIT",
		ipset: "*filter -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT -A FORWARD -m set --match-set deny dst -j DROP " +
			"-A FORWARD -m conntrack --ctstate NEW -j ACCEPT COMMIT",
		sets: "create deny hash:ip hashsize 64 maxelem 65 add deny 100.80.0.1 add deny 100.80.0.2",
		nftables: "table ip bench { chain forward { type filter hook forward priority filter; policy accept; " +
			"ct state established,related accept ip daddr 100.80.0.1 drop ip daddr 100.80.0.2 drop ct state new accept } }",
		nftablesSet: "table ip bench { set deny { type ipv4_addr; elements = { 100.80.0.1, 100.80.0.2 }; } " +
			"chain forward { type filter hook forward priority filter; policy accept; " +
			"ct state established,related accept ip daddr @deny drop ct state new accept } }",
	},
	{
		name: "linear chains", setup: nested([]int{2}, 1),
		iptables: "*filter :FORWARD DROP [0:0] :tree_0 - [0:0] :tree_1 - [0:0] -A FORWARD -d 198.19.0.0/32 -j tree_0 -A FORWARD -d 198.19.0.1/32 -j tree_1 " +
			"-A tree_0 -d 198.19.0.0/32 -j ACCEPT -A tree_1 -d 198.19.0.1/32 -j ACCEPT COMMIT",
		ipset: "*filter :FORWARD DROP [0:0] -A FORWARD -m set --match-set allow dst -j ACCEPT COMMIT",
		sets:  "create allow hash:ip hashsize 64 maxelem 65 add allow 198.19.0.0 add allow 198.19.0.1",
		nftables: "table ip bench { chain tree_1 { ip daddr 198.19.0.1/32 accept } chain tree_0 { ip daddr 198.19.0.0/32 accept } " +
			"chain forward { type filter hook forward priority filter; policy drop; ip daddr 198.19.0.0/32 jump tree_0 ip daddr 198.19.0.1/32 jump tree_1 } }",
		nftablesSet: "table ip bench { set allow { type ipv4_addr; elements = { 198.19.0.0, 198.19.0.1 }; } " +
			"chain forward { type filter hook forward priority filter; policy drop; ip daddr @allow accept } }",
	},
	{
		name: "nested chains", setup: nested([]int{1, 1}, 2),
		iptables: "*filter :FORWARD DROP [0:0] :tree - [0:0] :tree_0 - [0:0] :tree_0_0 - [0:0] -A FORWARD -j tree -A tree -d 198.19.0.0/31 -j tree_0 " +
			"-A tree_0 -d 198.19.0.0/31 -j tree_0_0 -A tree_0_0 -d 198.19.0.0/32 -j ACCEPT -A tree_0_0 -d 198.19.0.1/32 -j ACCEPT COMMIT",
		ipset: "*filter :FORWARD DROP [0:0] -A FORWARD -m set --match-set allow dst -j ACCEPT COMMIT",
		sets:  "create allow hash:ip hashsize 64 maxelem 65 add allow 198.19.0.0 add allow 198.19.0.1",
		nftables: "table ip bench { chain tree_0_0 { ip daddr 198.19.0.0/32 accept ip daddr 198.19.0.1/32 accept } " +
			"chain tree_0 { ip daddr 198.19.0.0/31 jump tree_0_0 } chain tree { ip daddr 198.19.0.0/31 jump tree_0 } " +
			"chain forward { type filter hook forward priority filter; policy drop; jump tree } }",
		nftablesSet: "table ip bench { set allow { type ipv4_addr; elements = { 198.19.0.0, 198.19.0.1 }; } " +
			"chain forward { type filter hook forward priority filter; policy drop; ip daddr @allow accept } }",
	},
}

func TestRuleTexts(t *testing.T) {
	t.Parallel()
	for _, test := range ruleTexts {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, device := range []struct{ name, got, want string }{
				{"iptables", iptablesText(iptablesRules(test.setup, false)), test.iptables},
				{"ipset", iptablesText(iptablesRules(test.setup, true)), test.ipset},
				{"the sets of ipset", ipsetSets(test.setup), test.sets},
				{"nftables", nftablesRules(test.setup, false), test.nftables},
				{"nftables-set", nftablesRules(test.setup, true), test.nftablesSet},
			} {
				if got := strings.Join(strings.Fields(device.got), " "); got != device.want {
					t.Errorf("%s:\n%s\nwant\n%s", device.name, got, device.want)
				}
			}
		})
	}
}

// A flow's way through the rules, looked at one by one, must take as many steps as
// the model says.
func TestArrangementIsAsTheModelSays(t *testing.T) {
	t.Parallel()
	for _, setup := range []bench.Setup{
		nested([]int{1}, 64), nested([]int{8}, 8), nested([]int{16}, 4), nested([]int{4, 4}, 4), nested([]int{2, 4, 2}, 8), nested([]int{2, 2, 2, 2}, 4),
	} {
		byChain := map[string][]arranged{}
		for _, r := range arrange(setup, "FORWARD") {
			byChain[r.chain] = append(byChain[r.chain], r)
		}
		hits := 0
		for flow := range setup.Allow.Flows() {
			hits += lookUp(t, byChain, "FORWARD", destinations(flow, 1).Addr())
		}
		if want := setup.Allow.Hits(); hits != want {
			t.Errorf("%v: %d rules were looked at, and the model says %d", setup.Allow, hits, want)
		}
	}
}

// lookUp returns how many rules are looked at until one lets a destination pass.
func lookUp(t *testing.T, byChain map[string][]arranged, chain string, destination netip.Addr) (hits int) {
	t.Helper()
	for _, r := range byChain[chain] {
		hits++
		switch {
		case r.match.IsValid() && !r.match.Contains(destination):
		case r.next == "":
			return hits
		default:
			return hits + lookUp(t, byChain, r.next, destination)
		}
	}
	t.Fatalf("no rule of chain %s lets %s pass", chain, destination)
	return hits
}

// What a device cannot do it must say, since it would be measured otherwise.
func TestUnsupportedSetups(t *testing.T) {
	t.Parallel()
	inbound := dnat
	inbound.Inbound = true
	both := inbound
	both.NAT = snat.NAT
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"route, snat", forwardsOnly(snat), true},
		{"route, dnat", forwardsOnly(dnat), true},
		{"route, deny", forwardsOnly(deny), false},
		{"ipset, dnat", (&ipsetDevice{}).Up(context.Background(), nil, dnat), true},
		{"realmgate, plain", realmgateCan(bench.Setup{}), true},
		{"realmgate, deny", realmgateCan(deny), true},
		{"realmgate, allow", realmgateCan(nested([]int{1}, 2)), true},
		{"realmgate, mark and snat", realmgateCan(bench.Setup{NAT: snat.NAT, Mark: true}), true},
		{"realmgate, snat", realmgateCan(snat), false},
		{"realmgate, snat and deny", realmgateCan(bench.Setup{NAT: snat.NAT, Deny: deny.Deny}), false},
		{"realmgate, dnat from inside", realmgateCan(dnat), true},
		{"realmgate, dnat from outside", realmgateCan(inbound), false},
		{"realmgate, both", realmgateCan(both), true},
	} {
		if got := errors.Is(test.err, bench.ErrUnsupported); got != test.want {
			t.Errorf("%s: unsupported %t, want %t (%v)", test.name, got, test.want, test.err)
		}
	}
}
