package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/connlimit"
)

// A source opens as many connections as it may, from inside and from outside. Its own FIN makes no room at once, a FIN or
// an RST of the other end does, and open connections go on.
func TestConnLimit(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	limit := func(number uint32) []nf.Step {
		return []nf.Step{{Number: number, Function: connlimit.ConnLimit{Connections: 2, Idle: time.Hour, Entries: 1024}}}
	}
	g.chained([]nf.Rule{{Direction: model.Out, Value: 0}, {Direction: model.In, Value: 1}}, limit(1), limit(2))
	const finAck = packets.FIN | packets.ACK
	own := endpoint(inA.Addr(), 1001)
	from := func(port uint16) packets.Packet { return tcp(endpoint(inA.Addr(), port), server, packets.SYN) }
	out := g.mapped(from(1001))
	g.mapped(from(1002))
	g.denied(from(1003))
	g.mapped(from(1001)) // once more
	g.leaves(g.put(tcp(server, out, synAck)), tcp(server, own, synAck))
	g.leaves(g.put(tcp(own, server, packets.ACK)), tcp(out, server, packets.ACK))
	g.leaves(g.put(tcp(own, server, finAck)), tcp(out, server, finAck))
	g.denied(from(1003))
	g.leaves(g.put(tcp(server, out, finAck)), tcp(server, own, finAck))
	g.mapped(from(1003))
	g.denied(from(1004))
	g.mapped(udp(inB, server)) // another source

	g.lend(pool1, 80, service, nil)
	client := func(port uint16) packets.Packet { return tcp(endpoint(remote, port), lent, packets.SYN) }
	g.established(endpoint(remote, 50001), lent, service)
	g.forwarded(g.put(client(50002)))
	g.dropped(g.put(client(50003)), "drop_denied")
	g.leaves(g.put(tcp(service, endpoint(remote, 50001), packets.RST)), tcp(lent, endpoint(remote, 50001), packets.RST))
	g.forwarded(g.put(client(50003)))
}
