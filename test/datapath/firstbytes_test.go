package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/internal/nf/jump"
	"github.com/realmgate/realmgate/internal/nf/mirror"
)

func signature(text string) (made firstbytes.Signature) {
	for _, b := range []byte(text) {
		made = append(made, firstbytes.Byte{Value: b, Any: b == '?'})
	}
	return made
}

func signatures(texts ...string) (made []firstbytes.Signature) {
	for _, text := range texts {
		made = append(made, signature(text))
	}
	return made
}

var outgoing = []nf.Rule{{Direction: model.Out}}

// says sends a segment with payload from inside.
func says(from, to netip.AddrPort, payload string) packets.Packet {
	return packets.NewTCP(from, to, packets.ACK, payload)
}

// judging puts a first-bytes, number 1, before another function that sees every packet,
// number 2.
func (g *gateway) judging(f firstbytes.FirstBytes, open bool) {
	g.t.Helper()
	g.chained(outgoing, []nf.Step{{Number: 1, Function: f, FailOpen: open}, {Number: 2, Function: mirror.Mirror{}}})
}

// A flow is judged by its first payload, again until one passes, and then no more; other
// functions go on seeing its every packet. Neither what is empty nor answers are judged.
func TestFirstBytesJudgeAFlowOnce(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.judging(firstbytes.FirstBytes{Deny: signatures("SSH-", "\x16\x03?\x01")}, false)
	for _, bad := range []string{"SSH-2.0-x\r\n", "SSH-", "\x16\x03\x00\x01", "\x16\x03\xff\x01 and more"} {
		out := g.connected(inA, server)
		g.dropped(g.put(says(inA, server, bad)), "drop_denied")
		g.dropped(g.put(says(inA, server, bad)), "drop_denied") // sent again
		g.leaves(g.put(says(server, out, "SSH-")), says(server, inA, "SSH-"))
		g.forwarded(g.put(tcp(inA, server, packets.RST)))
	}
	for _, good := range []string{"GET / HTTP/1.1\r\n", "S\x00", "SSH_2.0", "\x16\x03\x00\x02", "X"} {
		out := g.connected(inA, server)
		before, others := g.seen(1), g.seen(2)
		g.leaves(g.put(says(inA, server, good)), says(out, server, good))
		g.leaves(g.put(says(inA, server, "SSH-")), says(out, server, "SSH-"))
		g.leaves(g.put(says(server, out, "SSH-")), says(server, inA, "SSH-"))
		same(g, "questions after the first bytes", g.seen(1)-before, uint64(1))
		same(g, "questions to the other function", g.seen(2)-others, 3)
		g.forwarded(g.put(tcp(inA, server, packets.RST)))
	}
}

// With signatures that are allowed all else is dropped; what is denied is stronger.
func TestFirstBytesAllow(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.judging(firstbytes.FirstBytes{Allow: signatures("GET ", "POST "), Deny: signatures("GET /secret")}, false)
	for payload, passes := range map[string]bool{
		"GET / HTTP/1.0\r\n": true, "POST /x": true, "GET /secret": false, "GET /secrets are": false, "GET /secure": true, "HEAD / ": false, "\x00": false,
	} {
		g.connected(inA, server)
		if r := g.put(says(inA, server, payload)); (r.reason == "forwarded") != passes {
			t.Errorf("%q: %s", payload, r.reason)
		}
		g.put(tcp(inA, server, packets.RST))
	}
}

// A flow of UDP is judged by the packet that opens it.
func TestFirstBytesOfUDP(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.judging(firstbytes.FirstBytes{Deny: signatures("some")}, false)
	g.denied(udp(inA, server))
	g.count(0)
	g.mapped(packets.NewUDP(inA, server, "")) // says nothing yet
	g.dropped(g.put(udp(inA, server)), "drop_denied")
	g.mapped(packets.NewUDP(inA, server, "else"))
	before := g.seen(1)
	g.mapped(udp(inA, server))
	g.mapped(packets.NewUDP(inB, server, "more"))
	g.mapped(udp(inB, server))
	same(g, "questions", g.seen(1)-before, 1)
	g.mapped(packets.NewEcho(hostA, remote, 7, 1)) // ICMP has no first bytes
}

// Where the first payload is too short to tell, fail says. What pads a frame is no payload.
func TestFirstBytesThatAreTooFew(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	f := firstbytes.FirstBytes{Deny: signatures("S\x00\x00")}
	g.judging(f, false)
	g.connected(inA, server)
	frame := append(addressed(says(inA, server, "S")).Bytes(), 0, 0, 0, 0, 0)
	g.dropped(g.send(false, frame), "drop_denied")
	same(g, "times that it could not say", g.did(1).Failed, 1)
	g.judging(f, true)
	out := g.connected(inB, server)
	g.leaves(g.put(says(inB, server, "S")), says(out, server, "S"))
	g.leaves(g.put(says(inB, server, "S\x00\x00")), says(out, server, "S\x00\x00")) // judged already
}

// When the policy changes, a flow whose first bytes have passed is not judged by what
// comes in its middle, and one that was silent so far is judged by what comes first. One
// that was open before the function came is left alone.
func TestFirstBytesWhenThePolicyChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	before := endpoint(hostA, 40010)
	beforeOut := g.connected(before, server)
	f := firstbytes.FirstBytes{Allow: signatures("GET ")}
	g.judging(f, false)
	spoke := g.connected(inA, server)
	g.forwarded(g.put(says(inA, server, "GET / ")))
	silent := g.connected(inB, server)
	g.judging(f, false)
	g.leaves(g.put(says(inA, server, "middle")), says(spoke, server, "middle"))
	g.leaves(g.put(says(before, server, "middle")), says(beforeOut, server, "middle"))
	g.leaves(g.put(says(server, silent, "220 ")), says(server, inB, "220 ")) // judged anew by an answer
	g.dropped(g.put(says(inB, server, "HELO ")), "drop_denied")
	g.judging(f, false)
	g.denied(says(inB, server, "HELO ")) // judged anew by its own
	g.leaves(g.put(says(inB, server, "GET / ")), says(silent, server, "GET / "))
	g.leaves(g.put(says(inB, server, "HELO ")), says(silent, server, "HELO "))
}

// An ICMP error about a flow is not what the flow begins with.
func TestFirstBytesOfAnError(t *testing.T) {
	t.Parallel()
	const unreachable, port = 3, 3
	g := newGateway(t)
	g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: firstbytes.FirstBytes{Allow: signatures("GET ")}}})
	g.lend(pool1, 80, service, nil)
	client := endpoint(remote, 50000)
	g.established(client, lent, service)
	sent := tcp(lent, client, packets.SYN|packets.ACK)
	g.forwarded(g.put(packets.NewICMPError(remote, lent.Addr(), unreachable, port, 0, sent, 28)))
	g.dropped(g.put(says(client, lent, "HEAD")), "drop_denied")
	g.leaves(g.put(says(client, lent, "GET ")), says(client, service, "GET "))
}

// Functions before and behind a jump wait for the same first bytes, and are asked no more
// together.
func TestFirstBytesAcrossAJump(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.chained(outgoing,
		[]nf.Step{{Number: 1, Function: firstbytes.FirstBytes{Deny: signatures("a")}}, {Number: 2, Function: jump.Jump{}, Jumps: []int{1}}},
		[]nf.Step{{Number: 3, Function: firstbytes.FirstBytes{Deny: signatures("b")}}, {Number: 4, Function: mirror.Mirror{}}})
	for payload, reason := range map[string]model.Reason{"a": "drop_denied", "b": "drop_denied", "c": "forwarded"} {
		g.connected(inA, server)
		same(g, payload, g.put(says(inA, server, payload)).reason, reason)
		if reason == "forwarded" {
			first, last, every := g.seen(1), g.seen(3), g.seen(4)
			g.forwarded(g.put(says(inA, server, "a")))
			same(g, "questions to who sees every packet", g.seen(4)-every, uint64(1))
			same(g, "questions to those that have judged", g.seen(1)-first+g.seen(3)-last, 0)
		}
		g.put(tcp(inA, server, packets.RST))
	}
}
