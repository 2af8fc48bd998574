package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A host hears of the link that its client is behind, also from frames that the daemon sends again, which come by no link.
func TestWebMSSOfFramesSentAgain(t *testing.T) {
	t.Parallel()
	g := newGateway(t, publicLink(netns.MTU(1400)))
	g.serves(allPromised)
	e := g.ends()
	promised := allPromised
	promised.MSS = 1360
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(promised)
	first := v.first("GET /")
	g.dropped(g.put(first), "held_for_name")
	frame := g.tells(datapath.WebFirst)[0].Frame
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at, Name: 7}))
	g.in(func() error { return g.data.Replay(g.public, frame, 1) })
	for {
		octets, err := e.inside.Receive(time.Now().Add(5 * time.Second))
		check(t, err)
		p, err := packets.Parse(octets)
		if err != nil || p.TCP == nil || p.Tuple().Destination != v.at {
			continue
		}
		a, _, _ := read(p)
		same(g, "flags", p.TCP.Flags, packets.SYN)
		if a.mss > 1360 {
			t.Errorf("the host may send segments of %d octets", a.mss)
		}
		return
	}
}
