package jump

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// chains are a jump, number 1, before number 2, which drops, to a chain that no flow is for itself: with number 3, which accepts.
func chains(f nf.Function) []nf.Chain {
	return []nf.Chain{
		{Name: "here", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: f, Jumps: []int{1}}, {Number: 2, Function: nftest.Fixed(nf.Drop)}}},
		{Name: "there", Steps: []nf.Step{{Number: 3, Function: nftest.Fixed(nf.Accept)}}},
	}
}

// What matches goes on in the other chain, whose match does not count, and does not come back; all else goes on where it is. So it is
// told of packets that nobody sent.
func TestFlowsGoOnInAnotherChain(t *testing.T) {
	t.Parallel()
	names := nftest.Names{"some": model.NewAddressSet([]model.AddressRange{model.RangeOf(netip.MustParsePrefix("198.51.100.8/30"))})}
	for section, jumps := range map[string]map[string]bool{
		"{chain: there}": {"in tcp 203.0.113.7:1 > 10.0.0.1:80": true, "out icmp 10.0.0.1:7 > 203.0.113.7:7": true, "in gre 203.0.113.7:0 > 10.0.0.1:0": true},
		"{chain: there, when: [203.0.113.0/24, {from: 10.0.0.9, protocol: tcp, port: 80-81}, {set: some}, {source_port: 53}]}": {
			"in udp 203.0.113.7:1 > 10.0.0.1:80":  true,
			"out udp 10.0.0.1:1 > 203.0.113.7:80": true,
			"in udp 203.0.114.7:1 > 10.0.0.1:80":  false,
			"out tcp 10.0.0.9:1 > 192.0.2.1:81":   true,
			"out tcp 10.0.0.9:1 > 192.0.2.1:82":   false,
			"out udp 10.0.0.9:1 > 192.0.2.1:81":   false,
			"in udp 198.51.100.11:1 > 10.0.0.1:1": true,
			"in udp 198.51.100.12:1 > 10.0.0.1:1": false,
			"in udp 192.0.2.1:53 > 10.0.0.1:1":    true,
			"in icmp 192.0.2.1:53 > 10.0.0.1:53":  false,
		},
	} {
		b := nftest.New(t)
		b.Put(chains(nftest.Function(t, Kind, section, names))...)
		looking := b.Looking()
		counts := map[bool]uint64{}
		for line, jumped := range jumps {
			counts[jumped]++
			want, told := nftest.Said{Verdict: nf.Drop, Function: 2}, "here: 1 continue, 2 drop, drops"
			if jumped {
				want, told = nftest.Said{Verdict: nf.Accept, Function: 3}, "here: 1 jump 0, there: 3 accept, passes"
			}
			if got := b.Classify(nftest.Packet(line)); got != want {
				t.Errorf("%s, %s: %+v, want %+v", section, line, got, want)
			}
			if got := looking.Dry(nftest.Packet(line)); got != told {
				t.Errorf("%s, %s: %q, want %q", section, line, got, told)
			}
		}
		for number, want := range map[uint32]uint64{1: uint64(len(jumps)), 2: counts[false], 3: counts[true]} {
			if n := b.Count(number); n.Seen != want || n.Failed != 0 {
				t.Errorf("%s: function %d: counted %+v, want %d seen", section, number, n, want)
			}
		}
	}
}

// Whoever jumps to a chain without functions has passed.
func TestJumpToAnEmptyChain(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	list := chains(nftest.Function(t, Kind, "{chain: there}", nil))
	list[1].Steps = nil
	b.Put(list...)
	if got, want := b.Classify(nftest.Packet("in tcp 203.0.113.7:1 > 10.0.0.1:80")), (nftest.Said{Verdict: nf.Accept}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A jump has so many rules; what its section may not say, the configuration has a file of.
func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{nf.MostRules: true, nf.MostRules + 1: false} {
		if err := (Jump{When: make([]nf.Rule, n)}).Check(); (err == nil) != fits {
			t.Errorf("%d rules: %v", n, err)
		}
	}
}
