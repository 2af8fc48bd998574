package datapath

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

var spliceRuns = flag.Int("splices", 40, "connections of TestSplice")

// splice is a connection by name over ways that lose, double and turn round; the gateway between them is the real one.
type splice struct {
	*gateway
	random       *rand.Rand
	client, host *tcpEnd
	ways         [4][]packets.Packet // to the gateway from the client and the host, to the client, to the host
	events       *datapath.Events[datapath.WebEvent]
	held         [][]byte // by the daemon
	answered     bool
	opened       bool
}

const (
	fromClient = iota
	fromHost
	toClient
	toHost
)

// send puts a frame on its way.
func (s *splice) send(way int, p packets.Packet) {
	times := 1
	switch n := s.random.IntN(100); {
	case n < 5:
		times = 0
	case n < 10:
		times = 2
	}
	for range times {
		s.ways[way] = append(s.ways[way], p)
	}
}

// take is the next of a way, or one that overtakes others.
func (s *splice) take(way int) packets.Packet {
	at := 0
	if s.random.IntN(5) == 0 {
		at = s.random.IntN(min(4, len(s.ways[way])))
	}
	p := s.ways[way][at]
	s.ways[way] = append(s.ways[way][:at:at], s.ways[way][at+1:]...)
	return p
}

// through has the gateway see a frame, and sends on what it makes of it.
func (s *splice) through(public bool, frame []byte) {
	ifindex := s.private
	if public {
		ifindex = s.public
	}
	action, out, err := s.inject(public, ifindex, frame)
	check(s.t, err)
	if action == dataplane.Drop {
		return
	}
	p, err := packets.Parse(out)
	check(s.t, err)
	if action != dataplane.Redirect {
		s.t.Fatalf("%v of %s", action, p)
	}
	s.correct(p)
	if p.IPv4.Destination == hostA {
		s.send(toHost, p)
	} else {
		s.send(toClient, p)
	}
}

// daemon does what the daemon does: it leads the connection to its host, and sends again what came before it was open.
func (s *splice) daemon() (did bool) {
	for {
		s.events.SetDeadline(time.Now())
		e, err := s.events.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return did
		}
		check(s.t, err)
		did = true
		flow := model.Tuple{Protocol: model.TCP, Source: s.client.own, Destination: webPlace}
		switch e.Kind {
		case datapath.WebFirst, datapath.WebLater:
			switch {
			case e.Flow != flow || e.Kind == datapath.WebLater && !s.answered:
				continue // it overtook the first, or is of a connection before
			case s.opened:
				s.through(true, e.Frame)
				continue
			}
			s.held = append(s.held, e.Frame)
			if s.answered {
				continue
			}
			s.answered = true
			check(s.t, s.data.AnswerWeb(flow, datapath.WebAnswer{Begun: s.client.iss, Host: webHost}))
			for range 1 + s.random.IntN(2) {
				s.through(true, e.Frame)
			}
		case datapath.WebOpened:
			s.opened = true
			check(s.t, s.data.ForgetWeb(flow))
			for _, frame := range s.held {
				s.through(true, frame)
			}
		default:
			s.t.Fatalf("%+v", e)
		}
	}
}

// step does one thing, chosen at random; false where nothing moves any more.
func (s *splice) step() bool {
	for _, what := range s.random.Perm(7) {
		switch what {
		case fromClient, fromHost:
			if len(s.ways[what]) > 0 {
				s.through(what == fromClient, addressed(s.take(what)).Bytes())
				return true
			}
		case toClient, toHost:
			end := map[int]*tcpEnd{toClient: s.client, toHost: s.host}[what]
			if len(s.ways[what]) > 0 {
				s.hear(end, s.take(what))
				return true
			}
		case 4, 5:
			end := []*tcpEnd{s.client, s.host}[what-4]
			if p, some := end.emits(); some {
				s.send(what-4, p)
				return true
			}
		case 6:
			if s.daemon() {
				return true
			}
		}
	}
	return false
}

func (s *splice) hear(end *tcpEnd, p packets.Packet) {
	before := end.state
	if err := end.hears(p); err != nil {
		s.t.Fatalf("%v\n%s\n%s", err, s.client, s.host)
	}
	if end == s.host && end.state == endSYN && p.TCP.Flags&packets.SYN != 0 {
		if before == endClosed {
			end.early = 16384
		}
		s.send(fromHost, end.begin(synAck))
	}
}

// goes has the connection go to its end.
func (s *splice) goes() {
	for turn := 0; !s.client.done() || !s.host.done(); turn++ {
		if turn == 100_000 {
			s.t.Fatalf("it does not end:\n%s\n%s\n%v", s.client, s.host, s.counters())
		}
		if s.step() {
			continue
		}
		for way, end := range []*tcpEnd{s.client, s.host} {
			if p, some := end.timer(); some {
				s.send(way, p)
			}
		}
	}
}

// anyAbility is what some TCP can.
func anyAbility(r *rand.Rand) ability {
	a := ability{mss: []uint16{536, 1000, 1220, 1400, 1460}[r.IntN(5)], scale: r.IntN(16) - 1, sack: r.IntN(4) > 0, timestamps: r.IntN(4) > 0}
	return a
}

// Two ends of any ability, over ways that lose, double and turn round what they send: what one sends is what the other gets,
// nothing is acknowledged or selected that its peer has not, no window is overrun, checksums are right.
func TestSplice(t *testing.T) {
	t.Parallel()
	random := randomSource(t)
	g := newGateway(t)
	var events *datapath.Events[datapath.WebEvent]
	g.in(func() (err error) { events, err = g.data.WebEvents(); return err })
	defer func() { _ = events.Close() }()
	for run := range *spliceRuns {
		can, host := anyAbility(random), anyAbility(random)
		g.serves(datapath.WebPromise{MSS: min(host.mss, 1460), SACK: host.sack || random.IntN(4) == 0, Timestamps: host.timestamps})
		client := endpoint(remote, uint16(20000+run%40000))
		s := &splice{gateway: g, random: random, events: events}
		s.client = newTCPEnd(random, client, webPlace, can, randomOctets(random))
		s.host = newTCPEnd(random, webHost, client, host, randomOctets(random))
		s.client.client, s.client.peer, s.host.peer = true, s.host, s.client
		g.in(func() error { s.goes(); return nil })
		if s.host.stream() != string(s.client.out) || s.client.stream() != string(s.host.out) {
			t.Fatalf("what arrived is not what was sent:\n%s\n%s", s.client, s.host)
		}
	}
	counters := g.counters()
	for _, never := range []model.Reason{"drop_internal", "drop_malformed", "drop_cookie"} {
		if counters[never] > 0 {
			t.Errorf("%d times %s", counters[never], never)
		}
	}
	g.sound()
}

// randomOctets is a stream of a length at random.
func randomOctets(r *rand.Rand) []byte {
	octets := make([]byte, 1+r.IntN(50_000))
	for i := range octets {
		octets[i] = byte(r.Uint32())
	}
	return octets
}
