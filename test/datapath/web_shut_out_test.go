package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
	"github.com/realmgate/realmgate/test/dataplane"
)

// A ban, or a protection, comes when a client's SYN has been answered, when its name has been read, when its host has been asked:
// nothing of its own passes after that, nor what its host says.
func TestWebShutOutBeforeItsSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shut   func(*gateway)
		reason model.Reason
		told   []datapath.WebEventKind // who is banned hears of nothing
	}{
		"a ban": {func(g *gateway) { g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(remote, 32)) }, "drop_banned", []datapath.WebEventKind{datapath.WebOpened}},
		"a protection": {func(g *gateway) {
			g.protected(nf.Addresses{Fenced: setOf(remote.String() + "/32")})
		}, "drop_denied", []datapath.WebEventKind{datapath.WebRefused, datapath.WebRefused, datapath.WebOpened}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			g.serves(allPromised)
			visits := make([]*visit, 3)
			for i := range visits {
				visits[i] = g.visitor(endpoint(remote, uint16(50000+i)), fullAbility, fullAbility) //nolint:gosec // three
				visits[i].knocks(allPromised)
			}
			answered, read, asked := visits[0], visits[1], visits[2]
			answers := func(v *visit) {
				check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at}))
			}
			answers(read)
			asked.connects("GET")
			c.shut(g)
			answers(answered) // who was heard a moment ago
			for _, v := range []*visit{answered, read} {
				same(g, "first data", g.put(v.first("GET")).reason, c.reason)
			}
			r := g.put(asked.says(synAck, hostISN, asked.isn+1, "", asked.host.options(hostClock, clientClock+5)))
			same(g, "its host's answer", r.reason, "answered_host")
			same(g, "first data of whom the host has answered", g.put(asked.first("GET")).reason, c.reason)
			says := asked.says(packets.ACK|packets.PSH, hostISN+1, asked.isn+1, "220", nil)
			same(g, "what the host says", g.put(says).reason, c.reason)
			g.tells(c.told...)
			other := g.visitor(endpoint(remote2, 50000), fullAbility, fullAbility)
			other.knocks(allPromised)
			other.connects("GET")
			other.opens()
		})
	}
}

// What a SYN brings with it: data are not acknowledged (RFC 9293 section 3.10.7.2 lets them wait), and come again behind it; who
// asks for ECN is not promised it (RFC 3168 section 6.1.1), and its host is not asked for it.
func TestWebSYNWithMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*packets.Packet){
		"data": func(p *packets.Packet) { p.Payload = []byte("GET /") },
		"ECN":  func(p *packets.Packet) { p.TCP.Flags |= packets.ECE | packets.CWR },
		"data and ECN": func(p *packets.Packet) {
			p.Payload, p.TCP.Flags = []byte("GET /"), p.TCP.Flags|packets.ECE|packets.CWR
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			g.serves(allPromised)
			v := g.visitor(client, fullAbility, fullAbility)
			v.begins = change
			v.knocks(allPromised)
			v.connects("GET /")
			v.opens()
			v.forwarded(v.put(v.first("GET /")))
			g.count(1)
		})
	}
}

// The SYN goes to its host more than once, for the round trip's sake or because the host is silent: a chain is asked once.
func TestWebSYNsAreJudgedOnce(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	const most = 2
	g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: ratelimit.RateLimit{Meter: meter.Meter{
		Per: meter.PerSource, Unit: meter.Sessions, Rate: 1.0 / 3600, Burst: most*time.Hour + 30*time.Minute, Entries: 1024,
	}}}})
	for port := range uint16(most) {
		v := g.visitor(endpoint(remote, 50000+port), fullAbility, fullAbility)
		v.knocks(allPromised)
		v.connects("GET") // two SYNs
		v.calls(v.first("GET"))
	}
	v := g.visitor(endpoint(remote, 50000+most), fullAbility, fullAbility)
	v.knocks(allPromised)
	check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at}))
	r := g.put(v.first("GET"))
	if r.action != dataplane.Drop || r.reason != "drop_denied" {
		t.Errorf("one more connection: %v, %s", r.action, r.reason)
	}
	g.tells(datapath.WebRefused)
	g.count(most)
}
