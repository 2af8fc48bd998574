package datapath

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// What opens nothing at a web address, and what its sender hears.
func TestWebRefuses(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, ability{1460, 7, true, true}, ability{})
	v.knocks(allPromised)
	bare := v.from(packets.ACK, clientISN+1, v.cookie+1, "", nil)
	for name, c := range map[string]struct {
		packet packets.Packet
		reason model.Reason
		action dataplane.Action
		kinds  []datapath.WebEventKind
	}{
		"the third packet, of which nothing is kept": {bare, "held_for_name", dataplane.Drop, nil},
		"the same with another cookie":               {v.from(packets.ACK, 5, 7, "", nil), "drop_cookie", dataplane.Redirect, nil},
		"the same behind data":                       {v.from(packets.ACK, clientISN+101, v.cookie+1, "", nil), "held_for_name", dataplane.Drop, nil},
		"a keepalive":                                {v.from(packets.ACK, clientISN, v.cookie+1, "", nil), "held_for_name", dataplane.Drop, nil},
		"data of another connection":                 {v.from(packets.ACK, clientISN+1, 7, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"a cookie that is one off":                   {v.from(packets.ACK, clientISN+1, v.cookie+1+1<<13, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"a cookie with another offer":                {v.from(packets.ACK, clientISN+1, v.cookie+1+1<<24, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"from another port": {v.from(packets.ACK, clientISN+1, v.cookie+1, "GET", nil).Change(func(p *packets.Packet) { p.TCP.Source++ }),
			"drop_cookie", dataplane.Redirect, nil},
		"data that overtook the first": {v.from(packets.ACK, clientISN+101, v.cookie+1, "Host", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebLater}},
		"the first data":               {v.first("GET"), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebFirst}},
		"its end, and data":            {v.from(packets.FIN|packets.ACK, clientISN+1, v.cookie+1, "G", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebFirst}},
		"its end behind data":          {v.from(packets.FIN|packets.ACK, clientISN+4, v.cookie+1, "", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebLater}},
		"its end without a word":       {v.from(packets.FIN|packets.ACK, clientISN+1, v.cookie+1, "", nil), "drop_name_none", dataplane.Redirect, nil},
		"an RST":                       {v.from(packets.RST, clientISN+1, 0, "", nil), "drop_no_session", dataplane.Drop, nil},
		"an RST with another cookie":   {v.from(packets.RST|packets.ACK, clientISN+4, v.cookie+1+1<<13, "", nil), "drop_no_session", dataplane.Drop, nil},
		"an RST with ours":             {v.from(packets.RST|packets.ACK, clientISN+4, v.cookie+1, "", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebLater}},
		"SYN and ACK":                  {v.from(synAck, clientISN+1, v.cookie+1, "", nil), "drop_no_session", dataplane.Drop, nil},
		"another port":                 {tcp(client, endpoint(webAddress, 22), packets.SYN), "drop_no_binding", dataplane.Drop, nil},
		"UDP":                          {udp(client, endpoint(webAddress, 53)), "drop_no_binding", dataplane.Drop, nil},
	} {
		r := g.put(c.packet)
		if r.action != c.action || r.reason != c.reason {
			t.Errorf("%s: %v, %s, want %v, %s", name, r.action, r.reason, c.action, c.reason)
		}
		if c.action == dataplane.Redirect && (r.packet.TCP.Flags != packets.RST || r.packet.TCP.Sequence != c.packet.TCP.Acknowledge) {
			t.Errorf("%s is answered %s", name, r.packet)
		}
		g.tells(c.kinds...)
	}
	g.count(0)
}

// What ends a connection is acknowledged by its client, who is not told once more.
func TestWebLastWordsAreAcknowledged(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, ability{})
	v.knocks(allPromised)
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Reason: "drop_name_unknown"}))
	last := v.from(packets.ACK, v.isn+4, v.cookie+5000, "", nil)
	g.dropped(g.put(last), "held_for_name")
	check(t, g.data.ForgetWeb(v.flow()))
	g.reset(g.put(last), last, "drop_cookie")
}

// A client has missed the end of its session, and has nothing to say: its ACKs and keepalives are told.
func TestWebTellsWhoHasMissedTheEnd(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects("GET /")
	v.opens()
	v.forwarded(v.put(v.first("GET /")))
	must(g.data.EndAll())(t)
	for _, sequence := range []uint32{v.isn + 6, v.isn + 5} {
		p := v.from(packets.ACK, sequence, v.cookie+5000, "", stamps(clientClock+7, v.clock))
		g.reset(g.put(p), p, "drop_cookie")
	}
	g.tells()
}

// Who is kept out learns nothing, and nobody is left to wait while no daemon reads names.
func TestWebSYNs(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(remote, 32))
	g.dropped(g.put(tcp(client, webPlace, packets.SYN)), "drop_banned")
	other := endpoint(remote2, 50000)
	same(g, "reason", g.put(tcp(other, webPlace, packets.SYN)).reason, "answered_cookie")
	g.in(g.data.StopWebHeartbeat)
	r := g.put(tcp(other, webPlace, packets.SYN))
	if r.reason != "drop_daemon_away" || r.packet.TCP.Flags != packets.RST|packets.ACK {
		t.Errorf("%s, %s", r.reason, r.packet)
	}
}

// flooded has so many frames come within a tick, in turn, and says how many were heard.
func (g *gateway) flooded(number int, frames ...[]byte) (heard uint64) {
	g.t.Helper()
	var before, after map[model.Reason]uint64
	g.in(func() error { // frame by frame the counters would be asked, and a tick be over
		g.inOneTick(func() {
			check(g.t, g.data.WebHeartbeat())
			before = g.counters()
			for i := range number {
				if _, _, err := g.inject(true, g.public, frames[i%len(frames)]); err != nil {
					g.t.Fatal(err)
				}
			}
			after = g.counters()
		})
		return nil
	})
	heard = after["held_for_name"] - before["held_for_name"]
	if lost := after["drop_web_full"] - before["drop_web_full"]; heard+lost != uint64(number) { //nolint:gosec // a few
		g.t.Errorf("%d are heard, and %d are not, of %d", heard, lost, number)
	}
	return heard
}

// Who has proved its address sends more than a daemon can read: others are heard as before.
func TestWebFramesOfASource(t *testing.T) {
	t.Parallel()
	const most = 512 // WEB_FRAMES_OF_A_SOURCE
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteRate = 500 }))
	g.serves(allPromised)
	frame := func(client netip.AddrPort) []byte {
		v := g.visitor(client, ability{1460, 7, true, true}, ability{})
		v.knocks(allPromised)
		return addressed(v.from(packets.ACK, clientISN+2, v.cookie+1, "G", nil)).Bytes()
	}
	same(g, "heard of a source", g.flooded(most+20, frame(client)), most)
	events, err := g.data.WebEvents()
	check(t, err)
	defer events.Close()                                                           //nolint:errcheck // the test is over
	go events.Follow(func(error) {}, func(datapath.WebEvent) {})                   // the ring has room for fewer
	for length, most := range map[int]int{1600: most / 2, 3200: (most + 9) / 10} { // longer ones take more of the ring
		long := g.visitor(endpoint(netip.AddrFrom4([4]byte{192, 0, 2, byte(length >> 5)}), 50000), ability{1460, 7, true, true}, ability{})
		long.knocks(allPromised)
		f := addressed(long.from(packets.ACK, clientISN+2, long.cookie+1, strings.Repeat("G", length), nil)).Bytes()
		same(g, fmt.Sprintf("heard of %d octets", length), g.flooded(most+20, f), uint64(most))
	}
	other := g.visitor(endpoint(remote2, 50000), ability{1460, 7, true, true}, ability{})
	other.knocks(allPromised)
	same(g, "another source", g.put(other.first("GET")).reason, "held_for_name")
}

// Neither do those of a network together: it has what two sources have. Another one is heard.
func TestWebFramesOfANetwork(t *testing.T) {
	t.Parallel()
	const most = 1024 // of them and WEB_FRAMES_OF_A_NETWORK
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteRate = 500 }))
	g.serves(allPromised)
	var frames [][]byte
	events, err := g.data.WebEvents()
	check(t, err)
	defer events.Close() //nolint:errcheck // the test is over
	for i := range byte(8) {
		v := g.visitor(endpoint(netip.AddrFrom4([4]byte{203, 0, 113, 10 + i}), 50000), ability{1460, 7, true, true}, ability{})
		v.knocks(allPromised)
		frames = append(frames, addressed(v.from(packets.ACK, clientISN+2, v.cookie+1, "G", nil)).Bytes())
	}
	go events.Follow(func(error) {}, func(datapath.WebEvent) {}) // the ring has room for fewer
	same(g, "heard of a network", g.flooded(most+40, frames...), most)
	other := g.visitor(endpoint(netip.MustParseAddr("192.0.2.10"), 50000), ability{1460, 7, true, true}, ability{})
	other.knocks(allPromised)
	same(g, "another network", g.put(other.first("GET")).reason, "held_for_name")
}

// What the daemon does not come to read leaves room for what it has to hear of connections.
func TestWebRingHasRoomForWhatIsTold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, ability{1460, 7, true, true}, ability{1460, 7, true, true})
	v.knocks(allPromised)
	v.connects("GET")
	frames := [][]byte{}
	for i := range byte(32) {
		other := g.visitor(endpoint(netip.AddrFrom4([4]byte{192, 0, i, 10}), 50000), ability{1460, 7, true, true}, ability{})
		other.knocks(allPromised)
		frames = append(frames, addressed(other.from(packets.ACK, clientISN+2, other.cookie+1, "G", nil)).Bytes())
	}
	if heard := g.flooded(2000, frames...); heard < 1050 || heard > 1250 {
		t.Errorf("%d frames have found room", heard)
	}
	r := g.put(v.says(synAck, hostISN, v.isn+1, "", v.host.options(hostClock, clientClock+5)))
	same(g, "the host's answer", r.reason, "answered_host")
	same(g, "events that are lost", must(g.data.Usage())(t).EventsLost, 0)
}

// What is promised fits the link that the client comes by, and is what the configuration allows.
func TestWebMSS(t *testing.T) {
	t.Parallel()
	g, narrow := newGateway(t), newGateway(t, publicLink(netns.MTU(1400)))
	promises := func(promise, want uint16) {
		t.Helper()
		g.serves(datapath.WebPromise{MSS: promise})
		r := g.put(tcp(client, webPlace, packets.SYN))
		if a, _, _ := read(r.packet); a.mss != want {
			t.Errorf("promised are %d, want %d", a.mss, want)
		}
	}
	promises(1460, 1460)
	promises(536, 536)
	g.settings.MSS = 1200
	promises(1460, 1200)
	g.settings.MSS = 0
	g = narrow
	promises(1460, 1360)
}
