package filter

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// Each flow is dropped or not as the section says, once: its further packets are nobody's. A dry packet is judged as one that was sent.
func TestDropsFlows(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	names := nftest.Names{"bad": model.NewAddressSet([]model.AddressRange{model.RangeOf(netip.MustParsePrefix("198.51.100.8/30"))})}
	asked := uint64(0)
	for section, drops := range map[string]map[string]bool{
		"{}": {"in tcp 203.0.113.7:1 > 10.0.0.1:80": false, "out icmp 10.0.0.1:7 > 203.0.113.7:7": false},
		"{deny: [203.0.113.0/24, {protocol: tcp, port: 1000-2000}, {set: bad}]}": {
			"in udp 203.0.113.7:1 > 10.0.0.1:53":     true,
			"out udp 10.0.0.1:1 > 203.0.113.255:1":   true,
			"out udp 10.0.0.1:1 > 203.0.114.0:1":     false,
			"in icmp 203.0.113.7:7 > 10.0.0.1:7":     true,
			"in gre 203.0.113.7:0 > 10.0.0.1:0":      true,
			"in tcp 192.0.2.1:1 > 10.0.0.1:999":      false,
			"in tcp 192.0.2.1:1 > 10.0.0.1:1000":     true,
			"out tcp 10.0.0.1:1 > 192.0.2.1:2000":    true,
			"in tcp 192.0.2.1:1 > 10.0.0.1:2001":     false,
			"in tcp 192.0.2.1:1500 > 10.0.0.1:80":    false,
			"in udp 192.0.2.1:1 > 10.0.0.1:1000":     false,
			"in icmp 192.0.2.1:1500 > 10.0.0.1:1500": false,
			"in udp 198.51.100.7:1 > 10.0.0.1:53":    false,
			"in udp 198.51.100.8:1 > 10.0.0.1:53":    true,
			"out udp 10.0.0.1:1 > 198.51.100.11:1":   true,
			"out udp 10.0.0.1:1 > 198.51.100.12:1":   false,
		},
		"{allow: [{from: 10.0.0.0/24, protocol: udp, port: 53}, {protocol: icmp}], deny: [198.51.100.1]}": {
			"out udp 10.0.0.1:1 > 192.0.2.53:53":   false,
			"out udp 10.0.1.1:1 > 192.0.2.53:53":   true,
			"out tcp 10.0.0.1:1 > 192.0.2.53:53":   true,
			"out udp 10.0.0.1:1 > 198.51.100.1:53": true, // deny is stronger
			"out icmp 10.0.1.1:7 > 192.0.2.53:7":   false,
			"out icmp 10.0.0.1:7 > 198.51.100.1:7": true,
			"in icmp 198.51.100.1:7 > 10.0.0.1:7":  true,
		},
		"{deny: [{protocol: udp, source_port: 1-1023}, {to: 10.0.0.9}]}": {
			"in udp 192.0.2.1:1023 > 10.0.0.1:53":  true,
			"in udp 192.0.2.1:1024 > 10.0.0.1:53":  false,
			"in tcp 192.0.2.1:1023 > 10.0.0.1:53":  false,
			"in tcp 192.0.2.1:1024 > 10.0.0.9:53":  true,
			"out tcp 10.0.0.9:1024 > 192.0.2.1:53": false,
		},
	} {
		program := b.Only(nftest.Function(t, Kind, section, names))
		for line, dropped := range drops {
			want := nftest.Said{Verdict: nf.Accept}
			if dropped {
				want = nftest.Said{Verdict: nf.Drop, Function: 1}
			}
			for dry := range uint8(2) {
				p := nftest.Packet(line)
				p.Dry = dry
				if got := b.Ask(program, p); got != want {
					t.Errorf("%s, %s, dry %d: %+v, want %+v", section, line, dry, got, want)
				}
				asked++
			}
		}
	}
	if n := b.Count(1); n.Seen != asked || n.Failed != 0 {
		t.Errorf("counted %+v, and it was asked %d times", n, asked)
	}
}

// A filter has so many rules; where some allow, the one that drops all else is one of them.
func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter Filter
		fits   bool
	}{
		"as many as fit":           {Filter{Deny: make([]nf.Rule, nf.MostRules)}, true},
		"one too many":             {Filter{Deny: make([]nf.Rule, nf.MostRules+1)}, false},
		"as many that allow":       {Filter{Allow: make([]nf.Rule, nf.MostRules-1)}, true},
		"one too many that allows": {Filter{Allow: make([]nf.Rule, nf.MostRules)}, false},
		"one too many of both":     {Filter{Deny: make([]nf.Rule, 1), Allow: make([]nf.Rule, nf.MostRules-1)}, false},
	} {
		if err := c.filter.Check(); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
