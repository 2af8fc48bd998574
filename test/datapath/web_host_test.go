package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// stamped is the client's first data with timestamps, though nobody has promised any.
func (v *visit) stamped(data string) packets.Packet {
	return v.from(packets.ACK|packets.PSH, v.isn+1, v.cookie+1, data, stamps(clientClock+5, 1))
}

// Who sends timestamps that were not agreed on tells nothing of the host: its address goes on to promise what it can.
func TestWebHostIsNotWeakByWhatWasNotPromised(t *testing.T) {
	t.Parallel()
	promise := datapath.WebPromise{MSS: 1460, SACK: true}
	g := newGateway(t)
	g.serves(promise)
	v := g.visitor(client, ability{1460, 7, false, false}, ability{1460, -1, false, false})
	v.knocks(promise)
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at, Name: 7}))
	g.forwarded(g.put(v.stamped("GET /")))
	same(g, "the host's answer", g.put(v.says(synAck, hostISN, v.isn+1, "", v.host.options(0, 0))).reason, "answered_host")
	g.tells(datapath.WebOpened)
	g.sound()
}

// A host can less than was promised: what its client did not offer it may be able to do all the same.
func TestWebHostIsNotWeakByWhatWasNotOffered(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	port := uint16(50000)
	for _, c := range []struct{ can, host, tells ability }{
		{ability{1460, 7, true, false}, ability{1400, 7, true, false}, ability{mss: 1400, sack: true, timestamps: true}},
		{ability{1460, 7, false, true}, ability{1400, 7, false, true}, ability{mss: 1400, sack: true, timestamps: true}},
		{ability{1460, 7, false, false}, ability{1400, 7, false, false}, ability{mss: 1400, sack: true, timestamps: true}},
		{ability{1460, 7, false, true}, ability{1460, 7, false, false}, ability{mss: 1460, sack: true}},
		{fullAbility, ability{1400, 7, false, false}, ability{mss: 1400}},
		{fullAbility, ability{1400, 7, true, true}, ability{mss: 1400, sack: true, timestamps: true}},
	} {
		port++
		t.Logf("client: %s, host: %s", c.can, c.host)
		v := g.visitor(endpoint(remote, port), c.can, c.host)
		v.knocks(allPromised)
		v.connects("GET /")
		r := g.put(v.says(synAck, hostISN, v.isn+1, "", c.host.options(hostClock, clientClock+5)))
		same(g, "the host's answer", r.reason, "drop_host_options")
		same(g, "it hears", r.packet.TCP.Flags, packets.RST|packets.ACK)
		e := g.tells(datapath.WebWeak)[0]
		same(g, "flow", e.Flow, v.flow())
		same(g, "of the connection", e.Begun, v.isn)
		same(g, "what the host can", e.Can, datapath.WebPromise{MSS: c.tells.mss, SACK: c.tells.sack, Timestamps: c.tells.timestamps})
	}
	g.count(0)
	g.sound()
}

// frees wants the host to hear that what it still has of its client is over, and to open the new connection then.
func (v *visit) frees() {
	v.t.Helper()
	old := v.says(packets.ACK, 4711, v.isn-5000, "", nil)
	v.reset(v.put(old), old, "drop_not_syn")
	v.dropped(v.put(v.says(packets.ACK, 4711, v.isn+1, "", nil)), "drop_not_syn")           // it acknowledges the SYN
	v.dropped(v.put(v.says(packets.RST|packets.ACK, 4711, v.isn, "", nil)), "drop_not_syn") // nobody answers an RST
	v.answered()
}

// A host has missed the end of a connection by the same ports: it answers the SYN of a new one for that, until it hears an RST
// as TCP itself would say it (RFC 9293 section 3.10.7.3).
func TestWebHostHasMissedTheEnd(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /")
	v.frees()
	g.tells(datapath.WebOpened)
	check(t, g.data.ForgetWeb(v.flow()))
	v.talks()
	g.sound()
}

func TestOverflowHostHasMissedTheEnd(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.frees()
	v.talks()
	g.sound()
}

// One host is told so only as often as anybody.
func TestWebHostIsToldABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	const most = 64 // REFUSALS_OF_A_SOURCE
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /")
	frame, told := addressed(v.says(packets.ACK, 4711, v.isn-5000, "", nil)).Bytes(), 0
	g.in(func() error {
		g.inOneTick(func() {
			told = 0
			for range most + 20 {
				action, _, err := g.inject(false, g.private, frame)
				check(t, err)
				if action == dataplane.Redirect {
					told++
				}
			}
		})
		return nil
	})
	same(g, "told", told, most)
}

// A client that was promised timestamps gets none of a host without, though its address promises them no more since: it would
// drop what comes without (RFC 7323 section 3.2).
func TestWebHostIsWeakByWhatWasAgreed(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, ability{1460, 7, true, false})
	v.knocks(allPromised)
	g.serves(datapath.WebPromise{MSS: 1460, SACK: true})
	v.connects("GET /")
	same(g, "the host's answer", g.put(v.says(synAck, hostISN, v.isn+1, "", v.host.options(0, 0))).reason, "drop_host_options")
	same(g, "what the host can", g.tells(datapath.WebWeak)[0].Can, datapath.WebPromise{MSS: 1460, SACK: true})
	g.sound()
}
