package datapath

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// webQUIC is where names are read from datagrams.
var (
	webQUIC    = endpoint(webAddress, 443)
	webQUICIn  = endpoint(hostA, 8080)
	webQUICIn2 = endpoint(hostB, 8081)
)

// octets is a payload that begins with first.
func octets(first byte, length int) string {
	return string([]byte{first}) + strings.Repeat("q", length-1)
}

// long is a datagram of version 1 with a long header, as far as the data plane looks.
func long(first byte, destination, source string, length int) string {
	head := string([]byte{first, 0, 0, 0, 1, byte(len(destination))}) + destination + string([]byte{byte(len(source))}) + source
	return head + strings.Repeat("q", length-len(head))
}

var (
	initial = long(0xc3, "first try", "", 1200) // as browsers make them: their own IDs are empty
	anew    = long(0xc3, "another one", "", 1200)
	replies = long(0xc3, "", "the host", 1200)
	goesOn  = long(0xe3, "the host", "", 1200)
	short   = octets(0x43, 40)
)

func quicOf(client netip.AddrPort) model.Tuple {
	return model.Tuple{Protocol: model.UDP, Source: client, Destination: webQUIC}
}

func quic(client netip.AddrPort, payload string) packets.Packet {
	return with(udp(client, webQUIC), payload)
}

// leads has the daemon lead a client's Initial to a host, which then opens a session.
func (g *gateway) leads(client, host netip.AddrPort) {
	g.t.Helper()
	g.says(client, initial, datapath.WebAnswer{Host: host, Name: 0xabcdef})
	g.reaches(client, host, initial)
	check(g.t, g.data.ForgetWeb(quicOf(client)))
}

// says has the daemon say what becomes of the connection of an Initial.
func (g *gateway) says(client netip.AddrPort, initial string, answer datapath.WebAnswer) {
	g.t.Helper()
	answer.Begun = binary.NativeEndian.Uint32([]byte(initial[6:]))
	check(g.t, g.data.AnswerWeb(quicOf(client), answer))
}

// reaches wants a datagram at the host as its client sent it.
func (g *gateway) reaches(client, host netip.AddrPort, payload string) {
	g.t.Helper()
	p := g.forwarded(g.put(quic(client, payload)))
	same(g, "from", p.Tuple().Source, client)
	same(g, "to", p.Tuple().Destination, host)
	same(g, "payload", string(p.Payload), payload)
}

// A client's Initial waits for the daemon, and opens a plain session to the host that it says.
func TestWebInitials(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	for range 2 { // a datagram and a later one of the same attempt
		g.dropped(g.put(quic(client, initial)), "held_for_name")
		e := g.tells(datapath.WebDatagram)[0]
		same(g, "flow", e.Flow, quicOf(client))
		same(g, "each", e.Each, 0)
		same(g, "frame", string(e.Frame), string(addressed(quic(client, initial)).Bytes()))
	}
	g.leads(client, webQUICIn)
	g.reaches(client, webQUICIn, initial)
	g.reaches(client, webQUICIn, short)
	p := g.forwarded(g.put(with(udp(webQUICIn, client), initial)))
	same(g, "from", p.Tuple().Source, webQUIC)
	g.tells()
	g.count(1)
	s := g.sessions()[0]
	if s.Origin != "web" || s.Name != 0xabcdef || s.Tentative {
		t.Errorf("%+v", s)
	}
	g.sound()
}

// What opens nothing, and what the daemon hears of.
func TestWebDatagramsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.says(endpoint(remote, 50001), initial, datapath.WebAnswer{Reason: "drop_name_unknown"})
	g.says(endpoint(remote, 50002), initial, datapath.WebAnswer{Host: endpoint(hostA, 9999)})
	for name, c := range map[string]struct {
		packet packets.Packet
		reason model.Reason
	}{
		"a datagram that is too short for an Initial": {quic(client, octets(0xc3, 1199)), "drop_no_session"},
		"a long header without its fixed bit":         {quic(client, octets(0x83, 1200)), "drop_no_session"},
		"a short header from nobody":                  {quic(client, short), "drop_no_session"},
		"nothing":                                     {quic(client, ""), "drop_no_session"},
		"by a name that is unknown":                   {quic(endpoint(remote, 50001), initial), "drop_name_unknown"},
		"to a service that is not open":               {quic(endpoint(remote, 50002), initial), "drop_service_closed"},
		"its last hop":                                {quic(client, initial).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 }), "drop_ttl_expired"},
		"another port":                                {with(udp(client, endpoint(webAddress, 80)), initial), "drop_no_binding"},
	} {
		t.Log(name)
		g.dropped(g.put(c.packet), c.reason)
	}
	g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(remote2, 32))
	g.dropped(g.put(quic(endpoint(remote2, 50000), initial)), "drop_banned")
	g.in(g.data.StopWebHeartbeat)
	g.dropped(g.put(quic(client, initial)), "drop_daemon_away")
	g.tells()
	g.count(0)
}

// A new port of a client of one host is that host's; of a client of two it is nobody's.
func TestWebRebinding(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	at := func(port uint16) netip.AddrPort { return endpoint(remote, port) }
	ends := func(port uint16, left int) {
		t.Helper()
		g.in(func() error {
			_, err := g.data.EndSessions(func(s datapath.Session) bool { return s.Remote == at(port) })
			return err
		})
		g.count(left)
		g.sound()
	}
	g.leads(at(50000), webQUICIn)
	g.in(g.data.StopWebHeartbeat) // nobody is asked
	for _, payload := range []string{octets(0x43, 20), octets(0xe3, 1199)} {
		g.dropped(g.put(quic(at(50001), payload)), "drop_no_session")
	}
	g.dropped(g.put(quic(endpoint(remote2, 50000), short)), "drop_no_session")
	g.reaches(at(50001), webQUICIn, octets(0x03, 21)) // its fixed bit greased
	g.reaches(at(50002), webQUICIn, short)
	for _, s := range g.sessions() {
		same(g, "name", s.Name, uint32(0xabcdef))
	}
	g.sound()
	// The first one ends, and those that came after it are left.
	ends(50000, 2)
	g.reaches(at(50003), webQUICIn, short)
	// Another host's, too: which of them is meant?
	g.leads(at(50010), webQUICIn2)
	g.leads(at(50011), webQUICIn2)
	g.dropped(g.put(quic(at(50004), short)), "drop_rebinding")
	g.sound()
	for left, port := range []uint16{50003, 50002, 50001} {
		g.dropped(g.put(quic(at(50004), short)), "drop_rebinding")
		ends(port, 4-left)
	}
	g.reaches(at(50004), webQUICIn2, short)
	// Nobody of it is left.
	ends(50010, 2)
	ends(50011, 1)
	ends(50004, 0)
	g.dropped(g.put(quic(at(50005), short)), "drop_no_session")
	g.tells()
	if census := must(dataplane.Audit(g.data))(t); census.SessionIndex != 0 || census.Referenced != 0 {
		t.Errorf("%+v", census)
	}
}

// A client's port, or its NAT's, is another connection's: its Initial is read, and leads to the host that it asks for once the
// client of the one before has been silent. Of one that goes on nobody reads anything.
func TestWebPortAgainByQUIC(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.leads(client, webQUICIn)
	g.reaches(client, webQUICIn, initial) // it has not heard from its host yet
	g.idle(5 * time.Second)
	g.reaches(client, webQUICIn, initial)
	g.forwarded(g.put(with(udp(webQUICIn, client), replies)))
	g.reaches(client, webQUICIn, goesOn)
	g.tells()
	g.dropped(g.put(quic(client, anew)), "held_for_name")
	g.tells(datapath.WebAnew)
	g.in(g.data.WebHeartbeat)
	// Another host's name: the connection stands until its client is silent, whatever its host says.
	g.says(client, anew, datapath.WebAnswer{Host: webQUICIn2, Name: 0xabcdef})
	g.dropped(g.put(quic(client, anew)), "drop_session_conflict")
	g.reaches(client, webQUICIn, short)
	g.idle(2 * time.Second)
	g.reaches(client, webQUICIn, short)
	g.dropped(g.put(quic(client, anew)), "drop_session_conflict")
	g.idle(2 * time.Second)
	g.forwarded(g.put(with(udp(webQUICIn, client), octets(0x43, 40))))
	g.reaches(client, webQUICIn2, anew)
	check(t, g.data.ForgetWeb(quicOf(client)))
	g.reaches(client, webQUICIn2, anew)
	g.reaches(client, webQUICIn2, short)
	g.dropped(g.put(quic(client, initial)), "held_for_name") // it was the other host's
	g.tells(datapath.WebAnew)
	g.count(1)
	g.sound()
	if census := must(dataplane.Audit(g.data))(t); census.SessionIndex != 2 {
		t.Errorf("%+v", census)
	}
}

// A name of the same host has its connection at once: the session goes on.
func TestWebPortAgainForTheSameHost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.leads(client, webQUICIn)
	g.forwarded(g.put(with(udp(webQUICIn, client), replies)))
	g.reaches(client, webQUICIn, short)
	g.says(client, anew, datapath.WebAnswer{Host: webQUICIn, Name: 0xabcdef})
	g.dropped(g.put(quic(client, long(0xc3, "and yet another", "", 1200))), "held_for_name")
	g.tells(datapath.WebAnew)
	g.in(g.data.WebHeartbeat)
	g.reaches(client, webQUICIn, anew)
	check(t, g.data.ForgetWeb(quicOf(client)))
	g.reaches(client, webQUICIn, anew)
	// Its host sends the client to an address that it has proved (RFC 9000 section 8.1.2), and answers by yet another ID.
	for _, id := range []string{"retried", "the host, again", "abcd"} {
		g.forwarded(g.put(with(udp(webQUICIn, client), long(0xf3, "", id, 100))))
		g.reaches(client, webQUICIn, long(0xc3, id, "", 1200))
	}
	g.dropped(g.put(quic(client, initial)), "held_for_name")
	g.tells(datapath.WebAnew)
	// Yet another ID that the daemon says is of this connection, and one too short to be a client's first.
	other := long(0xc3, "told by its host", "", 1200)
	g.says(client, other, datapath.WebAnswer{})
	g.reaches(client, webQUICIn, other)
	check(t, g.data.ForgetWeb(quicOf(client)))
	g.reaches(client, webQUICIn, other)
	g.reaches(client, webQUICIn, long(0xc3, "shorter", "", 1200))
	g.says(client2, other, datapath.WebAnswer{}) // whose session has ended meanwhile
	g.dropped(g.put(quic(client2, other)), "drop_no_session")
	g.count(1)
	g.sound()
}

// Data that come with the Initial of another connection, before its name is read (0-RTT), are no sign of life of the one before.
func TestWebPortAgainWithEarlyData(t *testing.T) {
	t.Parallel()
	for version, first := range map[byte]byte{1: 0xd3, 2: 0xe3} {
		g := newGateway(t)
		g.serves(allPromised)
		early := func(id string, length int) string {
			payload := []byte(long(first, id, "", length))
			if version == 2 {
				binary.BigEndian.PutUint32(payload[1:], 0x6b3343cf)
			}
			return string(payload)
		}
		g.leads(client, webQUICIn)
		g.reaches(client, webQUICIn, early("first try", 300))
		g.forwarded(g.put(with(udp(webQUICIn, client), replies)))
		g.idle(2 * time.Second)
		g.dropped(g.put(quic(client, early("another one", 300))), "drop_no_session")
		g.says(client, anew, datapath.WebAnswer{Host: webQUICIn2, Name: 0xabcdef})
		g.reaches(client, webQUICIn2, anew)
		g.reaches(client, webQUICIn2, early("another one", 300))
		g.tells()
		g.count(1)
	}
}

// What its host alone can have asked for begins nothing, whatever ID that has: of several connections by one port a session
// knows the IDs of one.
func TestWebHandshakesGoOn(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.leads(client, webQUICIn)
	g.forwarded(g.put(with(udp(webQUICIn, client), replies)))
	g.reaches(client, webQUICIn, long(0xe3, "of another one", "", 1200))
	second := []byte(long(0xf3, "of another one", "", 1200))
	binary.BigEndian.PutUint32(second[1:], 0x6b3343cf)
	g.reaches(client, webQUICIn, string(second))
	g.tells()
}

// A service that is no more open opens nothing for whom it knows.
func TestWebRebindingIsJudged(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.leads(client, webQUICIn)
	g.policy(datapath.Service{Host: hostB, Port: 8081, Protocol: model.UDP})
	g.dropped(g.put(quic(endpoint(remote, 50001), short)), "drop_service_closed")
}

// Floods reach neither the daemon nor a host beyond their budgets, at which they are let in after a moment again.
func TestWebDatagramBudgets(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.leads(client, webQUICIn)
	for i, c := range []struct {
		payload string
		passed  model.Reason
		rate    float64
	}{{initial, "held_for_name", 4000}, {short, "forwarded", 1000}} {
		var frames [][]byte
		for n := range 3000 {
			frames = append(frames, addressed(quic(endpoint(remote, uint16(1000+10000*i+n)), c.payload)).Bytes())
		}
		before, began := g.counters(), time.Now()
		g.in(func() (err error) {
			for _, f := range frames {
				_, _, failed := g.inject(true, g.public, f)
				err = errors.Join(err, failed)
			}
			return err
		})
		// The burst, what has come in since, and what the coarse clock is behind.
		most := c.rate * (0.05 + time.Since(began).Seconds() + 0.02)
		after := g.counters()
		passed, full := after[c.passed]-before[c.passed], after["drop_web_full"]-before["drop_web_full"]
		if float64(passed) > most || float64(passed) < c.rate*0.05 || passed+full != uint64(len(frames)) {
			t.Errorf("%d of %d ended as %s, %d beyond the budget; at most %.0f may", passed, len(frames), c.passed, full, most)
		}
	}
}

// The daemon hears how an aggregate is to be cut; what would be too short by itself is, be it part of one.
func TestWebInitialsInAggregates(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	put := func(each int) {
		g.in(func() error {
			_, _, err := dataplane.Inject(g.data, dataplane.Injected{
				Frame: datapath.Frame{Public: true, Ifindex: g.public, Octets: addressed(quic(client, strings.Repeat(octets(0xc3, each), 2))).Bytes()},
				Mode:  datapath.TCX, Segments: 2, SegmentSize: uint32(each),
			})
			return err
		})
	}
	put(1199) // and the kernel verifies the other form's programs, for longer than a heartbeat lasts
	g.in(g.data.WebHeartbeat)
	put(1250)
	e := g.tells(datapath.WebDatagram)[0]
	same(g, "each", e.Each, 1250)
	same(g, "octets", len(e.Frame), 14+20+8+2*1250)
}

// A session whose client has not come again is short: whoever forges addresses can open one.
func TestWebDatagramsUnanswered(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutUDPUnanswered] = 30 * time.Second }))
	g.serves(allPromised)
	answered, settled := endpoint(remote, 50001), endpoint(remote, 50002)
	for _, c := range []netip.AddrPort{client, answered, settled} {
		g.leads(c, webQUICIn)
	}
	for _, c := range []netip.AddrPort{answered, settled} {
		g.forwarded(g.put(udp(webQUICIn, c)))
	}
	g.reaches(settled, webQUICIn, short)
	g.idle(29 * time.Second)
	g.count(3)
	g.idle(2 * time.Second)
	g.count(1)
	same(g, "who is left", g.sessions()[0].Remote, settled)
	g.idle(200 * time.Second)
	g.count(1)
	g.sound()
}
