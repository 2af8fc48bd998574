package dnat

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// Flows go where the section says, to its port or to their own; ICMP and what else has none gets none. The next function decides.
func TestSaysWhereFlowsGo(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	asked := uint64(0)
	for _, c := range []struct{ section, packet, to string }{
		{"{to: 10.0.0.100, port: 8080}", "in tcp 203.0.113.7:40000 > 198.18.0.2:80", "10.0.0.100:8080"},
		{"{to: 10.0.0.100, port: 8080}", "in udp 203.0.113.7:40000 > 198.18.0.2:80", "10.0.0.100:8080"},
		{"{to: 10.0.0.100, port: 8080}", "in icmp 203.0.113.7:7 > 198.18.0.2:7", "10.0.0.100:0"},
		{"{to: 10.0.0.100, port: 8080}", "in gre 203.0.113.7:0 > 198.18.0.2:0", "10.0.0.100:0"},
		{"{to: 192.168.255.254}", "in tcp 203.0.113.7:40000 > 198.18.0.2:80", "192.168.255.254:0"},
		{"{to: 192.168.255.254, port: 65535}", "in udp 203.0.113.7:40000 > 198.18.0.2:65535", "192.168.255.254:65535"},
	} {
		f := nftest.Function(t, Kind, c.section, nil)
		for _, decides := range []nf.Verdict{nf.Accept, nf.Drop} {
			b.Put(nf.Chain{Name: "it", Dnat: true, Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: f}, {Number: 2, Function: nftest.Fixed(decides)}}})
			want := nftest.Said{Verdict: decides, Function: 2, To: netip.MustParseAddrPort(c.to)}
			for dry := range uint8(2) {
				p := nftest.Packet(c.packet)
				p.Dry = dry
				if got := b.Ask(b.Made.XDP.Dnat, p); got != want {
					t.Errorf("%s, %s, dry %d: %+v, want %+v", c.section, c.packet, dry, got, want)
				}
				asked++
			}
		}
	}
	if n := b.Count(1); n.Seen != asked || n.Failed != 0 {
		t.Errorf("counted %+v, and it was asked %d times", n, asked)
	}
}

// Beside where it goes, dnat leaves of a packet what it was: the next function sees it as it came.
func TestLeavesThePacketAsItCame(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	p := nftest.Packet("in tcp 203.0.113.7:40000 > 198.18.0.2:80")
	after, err := b.Run(b.Only(nftest.Function(t, Kind, "{to: 10.0.0.100, port: 8080}", nil)), make([]byte, 64), p)
	if err != nil {
		t.Fatal(err)
	}
	want := p
	want.Verdict, want.ToAddress, want.ToPort = uint32(nf.Accept), after.ToAddress, after.ToPort
	if after != want || after.ToAddress == 0 {
		t.Errorf("%+v, want %+v", after, want)
	}
}

// What a section may not say; what else its addresses must be, the configuration has files of.
func TestBadSections(t *testing.T) {
	t.Parallel()
	nftest.Refuses(t, Kind, map[string]string{
		"{port: 80}":                  "the key to is missing",
		`{to: "2001:db8::1"}`:         "want an IPv4 address",
		"{to: 10.0.0.1, port: 0}":     "want a port of 1 to 65535",
		"{to: 10.0.0.1, port: 65536}": "want a port of 1 to 65535",
		"{to: 10.0.0.1, port: 80-90}": "want a port of 1 to 65535",
		"{to: [10.0.0.1, 10.0.0.2]}":  "want an IPv4 address",
	})
}
