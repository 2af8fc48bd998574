package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// again is the same client by the same port, which begins anew and wants another host.
func (v *visit) again() *visit {
	return &visit{gateway: v.gateway, client: v.client, to: v.to, can: fullAbility, host: fullAbility, at: endpoint(hostB, 8080), isn: v.isn + 1<<24}
}

var fullAbility = ability{mss: 1460, scale: 9, sack: true, timestamps: true}

// A port is used again while the first host is still silent: what its name was says nothing of whom the client wants now.
func TestWebPortAgainBeforeItsHostAnswers(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /a")
	w := v.again()
	w.knocks(allPromised)
	w.connects("GET /b") // the daemon hears it, and the SYN goes to the other host
	same(g, "what the first host says now", g.put(v.says(synAck, hostISN, v.isn+1, "", nil)).reason, "drop_not_syn")
	w.opens()
	got := g.forwarded(g.put(w.first("GET /b")))
	same(g, "goes to", got.Tuple().Destination, w.at)
	g.count(1)
	g.sound()
}

// The same when a connection was refused a moment ago.
func TestWebPortAgainAfterARefusal(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Reason: "drop_name_unknown"}))
	same(g, "the refused one", g.put(v.first("GET /a")).reason, "drop_name_unknown")
	w := v.again()
	w.knocks(allPromised)
	w.connects("GET /b")
}

// Both sides have finished, or one has reset, and the port is used again.
func TestWebPortAgainWhenItsSessionCloses(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*visit){
		"both have finished": func(v *visit) {
			v.forwarded(v.put(v.from(packets.FIN|packets.ACK, v.isn+7, v.cookie+1, "", nil)))
			v.forwarded(v.put(v.says(packets.FIN|packets.ACK, 0xffffffff, v.isn+8, "", nil)))
		},
		"one has reset": func(v *visit) {
			v.forwarded(v.put(v.from(packets.RST|packets.ACK, v.isn+7, v.cookie+1, "", nil)))
			check(v.t, dataplane.Age(v.data, time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.serves(allPromised)
			v := g.visitor(client, fullAbility, fullAbility)
			v.knocks(allPromised)
			v.connects("GET /a")
			v.opens()
			v.forwarded(v.put(v.first("GET /a")))
			ends(v)
			w := v.again()
			w.knocks(allPromised)
			same(g, "its third packet", g.put(w.from(packets.ACK, w.isn+1, w.cookie+1, "", nil)).reason, "held_for_name")
			w.connects("GET /b")
			w.opens()
			same(g, "goes to", g.forwarded(g.put(w.first("GET /b"))).Tuple().Destination, w.at)
			g.count(1)
			g.sound()
		})
	}
}

// Somebody resets a connection in its client's name, by numbers that are near, and says SYN: it goes on.
func TestWebOutlivesAnRSTAndASYN(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /a")
	v.opens()
	v.forwarded(v.put(v.first("GET /a")))
	g.forwarded(g.put(v.from(packets.RST, v.isn+70_000, 0, "", nil)))
	g.dropped(g.put(v.again().from(packets.SYN, v.isn+80_000, 0, "", fullAbility.options(clientClock, 0))), "drop_session_conflict")
	v.talks()
	for _, s := range g.sessions() {
		if s.State != "established" {
			t.Errorf("%+v", s)
		}
	}
	g.count(1)
	g.sound()
}

// A host says its SYN and ACK again, as it has not heard our ACK, or answers our second SYN: it hears it again, and the client
// nothing. Of a connection that closes the client hears it, who says what has become of it.
func TestWebHostAnswersAgain(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /a")
	v.opens()
	v.answered()
	v.forwarded(v.put(v.first("GET /a")))
	v.answered()
	v.talks()
	g.forwarded(g.put(v.from(packets.RST|packets.ACK, v.isn+7, v.cookie+1, "", nil)))
	got := g.forwarded(g.put(v.says(synAck, hostISN, v.isn+1, "", fullAbility.options(hostClock, clientClock+5))))
	same(g, "goes to", got.Tuple().Destination, v.client)
	g.count(1)
	g.sound()
}

// Whether it is the same SYN and ACK its number tells, too: a client that begins anew may do so near where it began before.
func TestWebHostAnswersAnew(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /a")
	v.opens()
	g.dropped(g.put(v.says(synAck, hostISN-1<<24, v.isn+1, "", fullAbility.options(hostClock, clientClock+5))), "drop_session_conflict")
	same(g, "state", v.state(), "rst")
}

// A client that the pool has answered by a cookie hears nothing of it, either.
func TestOverflowHostAnswersAgain(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.answered()
	v.answered()
	v.talks()
	g.sound()
}

// A client has forgotten its connection, and so has the host, which takes its SYN for a new one's: nobody knows whom it is for.
func TestWebPortAgainWhenAllHaveForgotten(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /a")
	v.opens()
	v.forwarded(v.put(v.first("GET /a")))
	w := v.again()
	knock := w.from(packets.SYN, w.isn, 0, "", w.can.options(clientClock, 0))
	same(g, "its SYN goes to", g.forwarded(g.put(knock)).Tuple().Destination, v.at)
	g.dropped(g.put(v.says(synAck, 777, w.isn+1, "", fullAbility.options(hostClock, clientClock))), "drop_session_conflict")
	check(t, dataplane.Age(g.data, time.Second))
	w.knocks(allPromised) // when it comes again
	w.connects("GET /b")
	w.opens()
	same(g, "goes to", g.forwarded(g.put(w.first("GET /b"))).Tuple().Destination, w.at)
	g.sound()
}
