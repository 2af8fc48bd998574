package tenants

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// bed is a namespace with the interfaces of a gateway.
type bed struct {
	t         *testing.T
	namespace *netns.Namespace
	setup     Setup
}

func newBed(t *testing.T) *bed {
	t.Helper()
	l := lab.New(t, "tenants")
	b := &bed{t: t, setup: Setup{Public: []string{"eth0"}, Private: []string{"eth1"}, XDP: true}}
	for _, a := range []string{"198.18.0.2", "198.18.0.32", "198.18.0.33", "198.18.0.34", "198.18.0.35"} {
		b.setup.External = append(b.setup.External, netip.MustParseAddr(a))
	}
	var err error
	if b.namespace, err = l.Namespace("gateway"); err != nil {
		t.Fatal(err)
	}
	peer, err := l.Namespace("peer")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"eth0", "eth1"} {
		if err := l.Veth(b.namespace, name, peer, name); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run runs commands, a line each, as an administrator would.
func (b *bed) run(commands string) {
	b.t.Helper()
	for line := range strings.Lines(commands) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		out, err := b.namespace.Command(b.t.Context(), "sh", "-c", line).CombinedOutput()
		if err != nil {
			b.t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}

func (b *bed) find() []string {
	b.t.Helper()
	f := b.findings()
	if left := append(f.Failed, f.Denied...); len(left) > 0 {
		b.t.Fatalf("not looked at: %q", left)
	}
	return append(f.Rules, f.Links...)
}

func (b *bed) findings() (f Findings) {
	b.t.Helper()
	if err := b.namespace.Do(func() error { f = Find(&b.setup); return nil }); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// What others have set up is named in one line, with a command that mends it: after that the
// line is gone. What is in nobody's way is not named.
func TestTenants(t *testing.T) {
	docker := `
		TOOL -N DOCKER-USER
		TOOL -N DOCKER
		TOOL -P FORWARD DROP
		TOOL -A FORWARD -j DOCKER-USER
		TOOL -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
		TOOL -A FORWARD -o docker0 -j DOCKER
		TOOL -A FORWARD -i docker0 ! -o docker0 -j ACCEPT
		TOOL -A DOCKER-USER -j RETURN
		TOOL -t nat -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE`
	for name, c := range map[string]struct {
		commands string
		want     []string // what each line has
	}{
		"nothing": {"", nil},
		"an open firewall": {`nft add table inet filter
			nft add chain inet filter forward '{ type filter hook forward priority 0; policy accept; }'
			nft add rule inet filter forward ip saddr 192.0.2.1 drop`, nil},
		"a forward policy of drop": {`nft add table inet filter
			nft add chain inet filter forward '{ type filter hook forward priority 0; policy drop; }'
			nft add rule inet filter forward ct state established,related accept`,
			[]string{"chain forward of table inet filter of nftables drops"}},
		"a last rule that drops": {`nft add table ip guard
			nft add chain ip guard here '{ type filter hook forward priority 10; }'
			nft add rule ip guard here tcp dport 22 accept
			nft add rule ip guard here counter drop`, []string{"chain here of table ip guard of nftables drops"}},
		"a chain that rejects": {`nft add table ip guard
			nft add chain ip guard end
			nft add rule ip guard end reject
			nft add chain ip guard here '{ type filter hook forward priority 10; }'
			nft add rule ip guard here iifname '{ eth0, eth1 }' jump end`, []string{"chain here of table ip guard of nftables drops"}},
		"let through by index": {`nft add table inet filter
			nft add chain inet filter forward '{ type filter hook forward priority 0; policy drop; }'
			nft add rule inet filter forward iif eth0 oif eth1 accept
			nft add rule inet filter forward iif eth1 oifname "eth*" accept`, nil},
		"let through one way alone": {`nft add table inet filter
			nft add chain inet filter forward '{ type filter hook forward priority 0; policy drop; }'
			nft add rule inet filter forward iifname eth1 oifname eth0 accept`, []string{"drops"}},
		"of other interfaces": {`nft add table inet filter
			nft add chain inet filter forward '{ type filter hook forward priority 0; policy accept; }'
			nft add rule inet filter forward iifname != '{ eth0, eth1 }' drop
			nft add rule inet filter forward iifname wlan0 drop`, nil},
		"masquerade on the uplink": {`nft add table ip nat
			nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
			nft add rule ip nat post oifname eth0 masquerade`, []string{"chain post of table ip nat of nftables translates again on eth0"}},
		"masquerade of all but one": {`nft add table ip nat
			nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
			nft add rule ip nat post oifname eth0 ip saddr != 198.18.0.32/30 masquerade`, []string{"198.18.0.2/32"}},
		"masquerade of a network inside": {`nft add table ip nat
			nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
			nft add rule ip nat post oifname eth0 ip saddr '{ 10.0.0.0/8, 172.16.0.0/12 }' masquerade
			nft add rule ip nat post oifname wg0 masquerade`, nil},
		"SNAT of some": {`nft add table ip nat
			nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
			nft add rule ip nat post ip saddr '{ 198.18.0.32/31, 10.0.0.0/8 }' tcp dport 25 snat to 198.18.0.9`, []string{"translates again"}},
		"Docker":                {strings.ReplaceAll(docker, "TOOL", "iptables"), []string{"chain FORWARD of table ip filter of nftables, closed by Docker, drops"}},
		"Docker, legacy":        {strings.ReplaceAll(docker, "TOOL", "iptables-legacy"), []string{"chain FORWARD of table filter of iptables (legacy), closed by Docker, drops"}},
		"masquerade, legacy":    {`iptables-legacy -t nat -A POSTROUTING -o eth+ -j MASQUERADE`, []string{"chain POSTROUTING of table nat of iptables (legacy) translates again"}},
		"masquerade, iptables":  {`iptables -t nat -A POSTROUTING -o eth0 -p tcp -j MASQUERADE`, []string{"table ip nat of nftables translates again"}},
		"a qdisc that shapes":   {`tc qdisc add dev eth0 root tbf rate 100mbit burst 32k latency 50ms`, []string{"qdisc tbf of eth0 shapes none"}},
		"a filter at the hooks": {`tc qdisc add dev eth0 clsact`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			if strings.Contains(c.commands, "iptables-legacy") && exec.Command("iptables-legacy", "-L").Run() != nil {
				t.Skip("this kernel has no iptables (legacy)")
			}
			b.run(c.commands)
			got := b.find()
			if len(got) != len(c.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, line := range got {
				if !strings.Contains(line, c.want[i]) || strings.Contains(line, "\n") {
					t.Errorf("%s\nlacks %q", line, c.want[i])
				}
				mend := line[strings.LastIndex(line, ": ")+2:]
				if _, other, ok := strings.Cut(mend, ", or "); ok {
					mend = other
				}
				t.Log(mend)
				b.run(mend)
			}
			if again := b.find(); len(again) > 0 {
				t.Errorf("when that was done: %s", strings.Join(again, "\n"))
			}
		})
	}
}

// Who has the kernel send to the interface is told of no qdisc.
func TestQdiscThatShapes(t *testing.T) {
	b := newBed(t)
	b.run(`tc qdisc add dev eth1 root tbf rate 100mbit burst 32k latency 50ms`)
	b.setup.Stack = []string{"eth1"}
	if got := b.find(); len(got) > 0 {
		t.Error(got)
	}
}

// A program of XDP that is not the gateway's is named, in any mode, with what takes it off.
func TestForeignXDP(t *testing.T) {
	for _, mode := range []string{"xdpgeneric", "xdpdrv"} {
		b := newBed(t)
		b.run(`ip link set dev eth0 ` + mode + ` obj ../nf/capture_bpfel.o sec xdp`)
		var asked uint32
		b.setup.IsOurs = func(program uint32) bool { asked = program; return true }
		if got := b.find(); len(got) > 0 || asked == 0 {
			t.Errorf("program %d: %v", asked, got)
		}
		b.setup.IsOurs = func(uint32) bool { return false }
		got := b.find()
		if len(got) != 1 || !strings.Contains(got[0], "of somebody else sees the packets of eth0 before the gateway") {
			t.Fatal(got)
		}
		b.run(got[0][strings.LastIndex(got[0], ": ")+2:])
		if got := b.find(); len(got) > 0 {
			t.Error(got)
		}
	}
}
