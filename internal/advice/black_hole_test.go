package advice

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// Who goes on with packets as long as the first that was too long is named, with the link and what mends it: not who was
// told a moment ago, nor who has sent a shorter one since.
func TestBlackHoles(t *testing.T) {
	t0 := time.Unix(1_800_000_000, 0)
	type packet struct {
		after  time.Duration
		length int
	}
	for name, c := range map[string]struct {
		protocol model.Protocol
		side     string
		mss      model.MSS
		packets  []packet
		at       time.Duration // since t0
		want     string        // what the only line has; empty: there is none
	}{
		"deaf":                 {model.UDP, "private", 0, []packet{{0, 1414}, {3 * time.Second, 1414}}, 0, "1 of them, as udp 10.0.0.100:40000"},
		"what mends it":        {model.UDP, "private", 0, []packet{{0, 1414}, {3 * time.Second, 1414}}, 0, "ip link set dev INTERFACE mtu 1300"},
		"from outside":         {model.UDP, "public", 0, []packet{{0, 1314}, {3 * time.Second, 1414}}, 0, "eth1 carries 1200 octets"},
		"TCP without its mend": {model.TCP, "private", model.MSSOff, []packet{{0, 1414}, {3 * time.Second, 1414}}, 0, "set mss: auto"},
		"TCP with it":          {model.TCP, "private", 0, []packet{{0, 1414}, {3 * time.Second, 1414}}, 0, "INTERFACE mtu 1300"},
		"a narrow route":       {model.UDP, "private", 0, []packet{{0, 1214}, {3 * time.Second, 1214}}, 0, "the route to 203.0.113.1 carries less"},
		"told just now":        {model.UDP, "private", 0, []packet{{0, 1414}, {time.Second, 1414}}, 0, ""},
		"hears":                {model.UDP, "private", 0, []packet{{0, 1414}, {time.Second, 1414}, {3 * time.Second, 1350}}, 0, ""},
		"hears, then is deaf":  {model.UDP, "private", 0, []packet{{0, 1414}, {3 * time.Second, 1350}, {6 * time.Second, 1350}}, 0, "eth0"},
		"long ago":             {model.UDP, "private", 0, []packet{{0, 1414}, {3 * time.Second, 1414}}, 2 * recentSpan, ""},
		"begins anew":          {model.UDP, "private", 0, []packet{{0, 1414}, {2 * recentSpan, 1414}}, 2 * recentSpan, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b blackHoles
			flow := model.Tuple{Protocol: c.protocol, Source: netip.MustParseAddrPort("10.0.0.100:40000"), Destination: netip.MustParseAddrPort("203.0.113.1:443")}
			for _, p := range c.packets {
				b.note(api.Drop{Time: t0.Add(p.after), Reason: tooBig, Side: c.side, Tuple: flow, Length: p.length})
				b.note(api.Drop{Time: t0.Add(p.after), Reason: "drop_fragment", Side: c.side, Tuple: model.Tuple{}, Length: p.length})
			}
			list := b.warnings(t0.Add(max(c.at, c.packets[len(c.packets)-1].after)), func(side string) link {
				return map[string]link{"public": {"eth0", 1300}, "private": {"eth1", 1200}}[side]
			}, c.mss)
			if c.want == "" && len(list) > 0 || c.want != "" && (len(list) != 1 || !strings.Contains(list[0], c.want)) {
				t.Errorf("%q, not %q", list, c.want)
			}
		})
	}
}

// However many flows there are, so many are remembered, and those of long ago make room.
func TestBlackHolesAreBounded(t *testing.T) {
	var b blackHoles
	for round := range 2 {
		now := time.Unix(1_800_000_000, 0).Add(time.Duration(round) * 2 * recentSpan)
		for n := range 2 * blackHoleFlows {
			b.note(api.Drop{Time: now, Reason: tooBig, Side: "private", Tuple: model.Tuple{Source: netip.AddrPortFrom(numbered(n), 1)}})
		}
		if len(b.flows) != blackHoleFlows {
			t.Errorf("%d flows are remembered", len(b.flows))
		}
	}
}
