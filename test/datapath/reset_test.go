package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// A client that sends SYN, RST and ACK and hears nothing has no connection: its
// session keeps the state and the short timer of a handshake.
func TestHandshakeNeedsBothSides(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.knocks(client)
	for range 2 {
		for _, flags := range []packets.Flags{packets.RST, packets.RST | packets.ACK} {
			g.leaves(g.put(tcp(client, lent, flags)), tcp(client, service, flags))
			same(g, "state after "+flags.String()+" of the client alone", g.state(), "syn")
		}
		for _, flags := range []packets.Flags{packets.ACK, packets.PSH | packets.ACK, synAck} {
			g.dropped(g.put(tcp(client, lent, flags)), "drop_claim_unproved")
			same(g, "state after "+flags.String()+" of the client alone", g.state(), "syn")
		}
		g.idle(time.Second)
	}
	g.count(1)
	g.idle(2 * time.Second) // 4 s after the SYN, 2 s after the last segment
	g.count(0)
}

func TestHandshakeNeedsBothSidesFromInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.converse(endpoint(outbound, inA.Port()), []step{
		{sent, packets.SYN, "syn"}, {sent, packets.RST, "syn"}, {sent, packets.ACK, "syn"}, {sent, packets.SYN, "syn"},
		{received, packets.RST | packets.ACK, "syn"}, {sent, packets.ACK, "syn"},
	})
	g.idle(241 * time.Second)
	g.count(0)
}

// A reset before the last segment of the handshake changes nothing either.
func TestResetOfAnAnsweredHandshake(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]step{
		"by the opener": {sent, packets.RST, "syn_both"}, "by the answerer": {received, packets.RST | packets.ACK, "syn_both"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			out := endpoint(outbound, inA.Port())
			g.converse(out, []step{{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}})
			g.idle(200 * time.Second)
			g.converse(out, []step{reset})
			g.idle(42 * time.Second) // 242 s after the answer
			g.count(0)
		})
	}
}

// The claim's timer goes on from the answer, whoever resets.
func TestResetOfAnAnsweredClaim(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.knocks(client)
	g.leaves(g.put(tcp(service, client, synAck)), tcp(lent, client, synAck))
	g.idle(2 * time.Second)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	same(g, "state", g.state(), "syn_both")
	g.idle(2 * time.Second)
	g.count(0)
}

// What both sides have finished stays finished: a reset and what comes behind
// it do not open it again.
func TestFinishedStaysFinished(t *testing.T) {
	t.Parallel()
	finished := []step{{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"}}
	for name, tail := range map[string][]step{
		"reset by the inside": {{sent, packets.RST, "fin_both"}, {received, packets.ACK, "fin_both"}, {sent, packets.ACK, "fin_both"}},
		"reset by the peer":   {{received, packets.RST, "fin_both"}, {sent, packets.ACK, "fin_both"}, {received, packets.ACK, "fin_both"}},
		"reset and reused":    {{sent, packets.RST, "fin_both"}, {sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			out := g.connected(inA, web)
			g.converse(out, append(finished[:2:2], tail...))
		})
	}
}

// The wait behind a close counts from the close, not from resets behind it.
func TestFinishedEndsInTime(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.connected(inA, web)
	g.converse(out, []step{{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"}})
	g.idle(200 * time.Second)
	g.converse(out, []step{{sent, packets.RST, "fin_both"}, {received, packets.ACK, "fin_both"}})
	g.idle(42 * time.Second)
	g.count(0)
}

// Only a connection that stood, on one side at least, is reset.
func TestResetOfAnOpenConnection(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]step{
		"established":        nil,
		"half closed inside": {{sent, packets.FIN | packets.ACK, "fin_out"}},
		"half closed there":  {{received, packets.FIN | packets.ACK, "fin_in"}},
		"reset before":       {{received, packets.RST, "rst"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutTCPClosing] = 10 * time.Second }))
			out := g.connected(inA, web)
			g.converse(out, append(before, step{sent, packets.RST, "rst"}))
			g.idle(11 * time.Second)
			g.count(0)
		})
	}
}
