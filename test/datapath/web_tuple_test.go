package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// I8 at a web address: a client's port that has a connection to the host by the pool gets none by name, which its host could not
// tell from the first. The daemon is told, and resets the client's.
func TestWebInsideTupleIsUnique(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.lend(pool1, 80, webHost, nil)
	g.established(client, lent, webHost)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	same(g, "its first data", g.put(v.first("GET /")).reason, "held_for_name")
	v.tells(datapath.WebFirst)
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at}))
	g.dropped(g.put(v.first("GET /")), "drop_session_conflict")
	same(g, "what the daemon is told", v.tells(datapath.WebRefused)[0].Reason, "drop_session_conflict")
	g.leaves(g.put(tcp(webHost, client, packets.ACK)), tcp(lent, client, packets.ACK))
	g.count(1)
	// When the first is closing, its place is free.
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	v.calls(v.first("GET /"))
	v.opens()
	v.forwarded(v.put(v.first("GET /")))
	v.talks()
	g.count(1)
	g.sound()
}
