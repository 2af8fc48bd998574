package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// Hosts inside know private addresses. One that asked somebody else for the name comes by the web address all the same, and its
// host sees it as any other: by the outbound address, by which answers come back.
func TestWebFromInside(t *testing.T) {
	t.Parallel()
	for name, serves := range map[string]func(t *testing.T) (*gateway, *visit){
		"at an address of its own": func(t *testing.T) (*gateway, *visit) {
			g := newGateway(t)
			g.serves(allPromised)
			return g, g.visitor(inA, fullAbility, fullAbility)
		},
		"at the only address": func(t *testing.T) (*gateway, *visit) {
			g := servesOnOneAddress(t)
			v := g.visitor(inA, fullAbility, fullAbility)
			v.to = endpoint(outbound, 80)
			return g, v
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, v := serves(t)
			v.at = endpoint(hostB, 8080)
			v.knocks(allPromised)
			same(g, "first data", g.put(v.first("GET / HTTP/1.1\r\n")).reason, "held_for_name")
			e := g.tells(datapath.WebFirst)[0]
			out := e.Flow.Source
			same(g, "flow", e.Flow, model.Tuple{Protocol: model.TCP, Source: endpoint(outbound, out.Port()), Destination: v.to})
			same(g, "interface", e.Interface, g.private)
			check(t, g.data.AnswerWeb(e.Flow, datapath.WebAnswer{Begun: v.isn, Host: v.at, Name: 7}))
			p := g.forwarded(g.put(v.first("GET / HTTP/1.1\r\n")))
			same(g, "flags", p.TCP.Flags, packets.SYN)
			same(g, "the host is called by", p.Tuple(), model.Tuple{Protocol: model.TCP, Source: out, Destination: v.at})
			answer := segment(v.at, out, synAck, hostISN, v.isn+1).Change(func(p *packets.Packet) { p.TCP.Options = fullAbility.options(hostClock, clientClock+5) })
			same(g, "the host's answer", g.put(answer).reason, "answered_host")
			g.tells(datapath.WebOpened)
			check(t, g.data.ForgetWeb(e.Flow))
			difference := v.cookie - hostISN

			p = g.forwarded(g.put(v.from(packets.ACK, v.isn+20, v.cookie+100, "more", stamps(clientClock+6, v.clock))))
			same(g, "to the host", p.Tuple(), model.Tuple{Protocol: model.TCP, Source: out, Destination: v.at})
			same(g, "the client's numbers", [2]uint32{p.TCP.Sequence, p.TCP.Acknowledge}, [2]uint32{v.isn + 20, v.cookie + 100 - difference})
			g.correct(p)
			at := uint32(hostISN)
			at += 100
			said := with(segment(v.at, out, packets.ACK, at, v.isn+24), "<html>").Change(func(p *packets.Packet) {
				p.TCP.Options = stamps(hostClock+9, clientClock+6)
			})
			p = g.forwarded(g.put(said))
			same(g, "to the client", p.Tuple(), model.Tuple{Protocol: model.TCP, Source: v.to, Destination: inA})
			same(g, "the host's numbers", [2]uint32{p.TCP.Sequence, p.TCP.Acknowledge}, [2]uint32{v.cookie + 100, v.isn + 24})
			g.correct(p)
			for _, s := range g.sessions() {
				if !s.Hairpin || s.State != "established" {
					t.Errorf("%s: hairpin %v", s, s.Hairpin)
				}
			}
			g.count(2)
			g.dropped(g.fromOutside(outside(tcp(out, v.to, packets.ACK))), "drop_spoofed_source")

			w := g.visitor(inB, fullAbility, fullAbility)
			w.to = v.to
			w.knocks(allPromised)
			g.dropped(g.put(w.first("GET / HTTP/1.1\r\n")), "held_for_name")
			check(t, g.data.AnswerWeb(g.tells(datapath.WebFirst)[0].Flow, datapath.WebAnswer{Begun: w.isn, Reason: "drop_name_unknown"}))
			g.dropped(g.put(w.first("GET / HTTP/1.1\r\n")), "drop_name_unknown")

			g.in(g.data.StopWebHeartbeat)
			r := g.put(tcp(endpoint(hostA, 5001), v.to, packets.SYN))
			if r.action != dataplane.Redirect || r.packet.TCP == nil || r.packet.TCP.Flags != packets.RST|packets.ACK || r.packet.Tuple().Destination != endpoint(hostA, 5001) {
				t.Errorf("without a daemon: %v, %s, %s", r.action, r.reason, r.packet)
			}
		})
	}
}

// The same by QUIC.
func TestWebInitialsFromInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.dropped(g.put(quic(inA, initial)), "held_for_name")
	e := g.tells(datapath.WebDatagram)[0]
	out := endpoint(outbound, inA.Port())
	same(g, "flow", e.Flow, quicOf(out))
	g.says(out, initial, datapath.WebAnswer{Host: webQUICIn2, Name: 7})
	p := g.forwarded(g.put(quic(inA, initial)))
	same(g, "to the host", p.Tuple(), model.Tuple{Protocol: model.UDP, Source: out, Destination: webQUICIn2})
	p = g.forwarded(g.put(with(udp(webQUICIn2, out), initial)))
	same(g, "to the client", p.Tuple(), model.Tuple{Protocol: model.UDP, Source: webQUIC, Destination: inA})
	p = g.forwarded(g.put(quic(inA, short)))
	same(g, "to the host, later", p.Tuple().Destination, webQUICIn2)
	g.in(g.data.WebHeartbeat)
	g.dropped(g.put(quic(inA, anew)), "held_for_name") // another connection by its port
	g.tells(datapath.WebAnew)
	g.count(2)
}
