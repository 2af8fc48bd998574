package datapath

import (
	"net/netip"
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
		"a forged one":                {v.from(packets.ACK, 5, 7, "", nil), "held_for_name", dataplane.Drop, nil},
		"data of another connection":  {v.from(packets.ACK, clientISN+1, 7, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"a cookie that is one off":    {v.from(packets.ACK, clientISN+1, v.cookie+1+1<<13, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"a cookie with another offer": {v.from(packets.ACK, clientISN+1, v.cookie+1+1<<24, "GET", nil), "drop_cookie", dataplane.Redirect, nil},
		"from another port": {v.from(packets.ACK, clientISN+1, v.cookie+1, "GET", nil).Change(func(p *packets.Packet) { p.TCP.Source++ }),
			"drop_cookie", dataplane.Redirect, nil},
		"data that overtook the first": {v.from(packets.ACK, clientISN+101, v.cookie+1, "Host", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebLater}},
		"the first data":               {v.first("GET"), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebFirst}},
		"its end":                      {v.from(packets.FIN|packets.ACK, clientISN+1, v.cookie+1, "", nil), "held_for_name", dataplane.Drop, []datapath.WebEventKind{datapath.WebFirst}},
		"an RST":                       {v.from(packets.RST, clientISN+1, 0, "", nil), "drop_no_session", dataplane.Drop, nil},
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

// Who has proved its address sends more than a daemon can read: others are heard as before.
func TestWebFramesOfASource(t *testing.T) {
	t.Parallel()
	const most = 256 // WEB_FRAMES_OF_A_SOURCE
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, ability{1460, 7, true, true}, ability{})
	v.knocks(allPromised)
	other := g.visitor(endpoint(remote2, 50000), v.can, ability{})
	other.knocks(allPromised)
	var before, after map[model.Reason]uint64
	g.in(func() error { // frame by frame the counters would be asked, and a tick be over
		frame := addressed(v.from(packets.ACK, clientISN+2, v.cookie+1, "G", nil)).Bytes()
		g.inOneTick(func() {
			check(t, g.data.WebHeartbeat())
			before = g.counters()
			for range most + 20 {
				if _, _, err := g.inject(true, g.public, frame); err != nil {
					t.Fatal(err)
				}
			}
			after = g.counters()
		})
		return nil
	})
	if held, lost := after["held_for_name"]-before["held_for_name"], after["drop_web_full"]-before["drop_web_full"]; held != most || lost != 20 {
		t.Errorf("%d are heard, and %d are not", held, lost)
	}
	same(g, "another source", g.put(other.first("GET")).reason, "held_for_name")
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
