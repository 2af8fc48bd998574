package datapath

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// talk is an open connection whose ends have sent little or nothing: the host's
// numbers go on from hostISN, its peer's from clientISN.
type talk struct {
	private, external, remote netip.AddrPort
	hairpin                   netip.AddrPort // where the peer is a host inside, too: it
}

// origins of connections, and how to open one.
var talks = map[string]func(*gateway) talk{
	"from inside": func(g *gateway) talk {
		out := endpoint(outbound, inA.Port())
		g.leaves(g.put(segment(inA, web, packets.SYN, hostISN, 0)), segment(out, web, packets.SYN, hostISN, 0))
		g.leaves(g.put(segment(web, out, synAck, clientISN, ackOfHost)), segment(web, inA, synAck, clientISN, ackOfHost))
		g.leaves(g.put(segment(inA, web, packets.ACK, ackOfHost, clientISN+1)), segment(out, web, packets.ACK, ackOfHost, clientISN+1))
		return talk{private: inA, external: out, remote: web}
	},
	"through a mapping": func(g *gateway) talk {
		out := g.mapped(tcp(inA, server, packets.SYN))
		g.established(web, out, inA)
		return talk{private: inA, external: out, remote: web}
	},
	"from the pool": func(g *gateway) talk {
		g.lend(pool1, 80, service, nil)
		g.established(client, lent, service)
		return talk{private: service, external: lent, remote: client}
	},
	"by dnat": func(g *gateway) talk {
		g.forwards([]forward{tcpTo(shop, shopIn)})
		g.established(client, shop, shopIn)
		return talk{private: shopIn, external: shop, remote: client}
	},
	"between two hosts inside": func(g *gateway) talk {
		b, a := g.mapped(tcp(inB, server, packets.SYN)), endpoint(outbound, inA.Port())
		g.leaves(g.put(segment(inA, b, packets.SYN, clientISN, 0)), segment(a, inB, packets.SYN, clientISN, 0))
		g.leaves(g.put(segment(inB, a, synAck, hostISN, clientISN+1)), segment(b, inA, synAck, hostISN, clientISN+1))
		g.leaves(g.put(segment(inA, b, packets.ACK, clientISN+1, ackOfHost)), segment(a, inB, packets.ACK, clientISN+1, ackOfHost))
		return talk{private: inB, external: b, remote: a, hairpin: inA}
	},
}

// ackOfHost acknowledges the SYN of who began with hostISN.
var ackOfHost = func() uint32 { n := uint32(hostISN); return n + 1 }()

// ends are what each side sends: from the host, or from its peer.
func (c talk) ends(fromHost bool) (from, to netip.AddrPort) {
	switch {
	case fromHost:
		return c.private, c.remote
	case c.hairpin.IsValid():
		return c.hairpin, c.external
	}
	return c.remote, c.external
}

// says sends a segment of one side, and wants it forwarded.
func (c talk) says(g *gateway, fromHost bool, flags packets.Flags, sequence, acknowledge uint32) {
	g.t.Helper()
	from, to := c.ends(fromHost)
	g.forwarded(g.put(segment(from, to, flags, sequence, acknowledge)))
}

// states are those of the connection's sessions: two of a hairpin.
func (c talk) states(g *gateway) (list []string) {
	g.t.Helper()
	for _, s := range g.sessions() {
		if s.Private == c.private && s.Remote == c.remote || s.Private == c.hairpin && s.Remote == c.external {
			list = append(list, s.State)
		}
	}
	return list
}

// stands wants the connection established.
func (c talk) stands(g *gateway) bool {
	g.t.Helper()
	list := c.states(g)
	if len(list) == 0 {
		g.t.Fatal("the connection has no session")
	}
	for _, state := range list {
		if state != "established" {
			return false
		}
	}
	return true
}

// forge sends a segment of one side that somebody else may have made, and wants it forwarded: who is
// meant checks that itself (RFC 5961). In the gateway's namespace.
func (c talk) forge(g *gateway, fromHost bool, flags packets.Flags, sequence, acknowledge uint32) {
	g.t.Helper()
	from, to := c.ends(fromHost)
	p := addressed(segment(from, to, flags, sequence, acknowledge))
	public, ifindex := !realm.Contains(from.Addr()), g.private
	if public {
		ifindex = g.public
	}
	action, _, err := g.inject(public, ifindex, p.Bytes())
	if err != nil || action != dataplane.Redirect {
		g.t.Fatalf("%s: %v, %v, want it forwarded", p, action, err)
	}
}

// Who is not on the path and guesses the numbers ends nothing: at most one guess in a thousand
// changes a session's state, whoever opened it, from either side. The guesses are spread evenly, one
// for every eight units of both numbers, so that luck has no part in it.
func TestBlindResetsAndFINs(t *testing.T) {
	t.Parallel()
	const every = 8
	const guesses = 65536 / every
	const most = guesses / 1000
	ways := [][]packets.Flags{{packets.RST}, {packets.FIN | packets.ACK}, {packets.RST | packets.ACK}, {packets.ACK, packets.RST}}
	for origin, open := range talks {
		for side, fromHost := range map[string]bool{"outside": false, "inside": true} {
			t.Run(origin+", guessed "+side, func(t *testing.T) {
				t.Parallel()
				r, believed := randomSource(t), 0
				g := newGateway(t, filtering(model.EndpointIndependent))
				c := open(g)
				guess := func(stratum int) uint32 { return uint32(stratum*every+r.IntN(every))<<16 | r.Uint32()>>16 }
				acknowledgements := r.Perm(guesses)
				for i, stratum := range r.Perm(guesses) {
					sequence, acknowledge := guess(stratum), guess(acknowledgements[i])
					g.in(func() error {
						for _, flags := range ways[i%len(ways)] {
							c.forge(g, fromHost, flags, sequence, acknowledge)
						}
						return nil
					})
					if c.stands(g) {
						continue
					}
					if believed++; believed > most {
						t.Fatalf("%d guesses of %d changed the state, at most %d may", believed, i+1, most)
					}
					must(g.data.EndAll())(t)
					c = open(g)
				}
				if believed == 0 {
					t.Error("no guess met the numbers: the test shows nothing")
				}
				t.Logf("%d guesses of %d changed the state", believed, guesses)
			})
		}
	}
}

// turns are what connections may go through before one side ends it. Segments are said with how
// far on they are, in units of 64 KiB, from the last number of their side before them.
var turns = map[string]func(*speaker){
	"nothing":            func(*speaker) {},
	"long silence":       func(s *speaker) { s.g.idle(2 * time.Hour) },
	"a keepalive":        func(s *speaker) { s.says(packets.ACK, s.next-1) },
	"aggregates":         func(s *speaker) { s.sends(300, 1) },
	"both ways at once":  func(s *speaker) { s.acknowledge -= 100 << 16; s.sends(300, 1) },
	"every second lost":  func(s *speaker) { s.sends(300, 2) },
	"once round":         func(s *speaker) { s.sends(65536/16+3, 16) },
	"sent again":         func(s *speaker) { s.sends(200, 5); s.says(packets.ACK, s.next-900<<16) },
	"an early segment":   func(s *speaker) { s.says(packets.ACK, s.next+10<<16) },
	"an RST before":      func(s *speaker) { s.says(packets.RST, s.next); s.says(packets.ACK, s.next) },
	"a half-open reset":  func(s *speaker) { s.says(packets.FIN|packets.ACK, s.next); s.next++ },
	"a forged SYN":       func(s *speaker) { s.forges(packets.SYN, s.next+30_000<<16, 0) },
	"forged data":        func(s *speaker) { s.forges(packets.ACK, s.next+30_000<<16, s.acknowledge+30_000<<16) },
	"forged data behind": func(s *speaker) { s.forges(packets.ACK, s.next-30_000<<16, s.acknowledge-30_000<<16) },
	"a forged RST":       func(s *speaker) { s.forges(packets.RST, s.next+17<<16, 0) },
	"a forged FIN":       func(s *speaker) { s.forges(packets.FIN|packets.ACK, s.next-17<<16, s.acknowledge+1<<16) },
	// More than a mebibyte lost before the gateway: what comes behind it acknowledges the other side.
	"a great loss": func(s *speaker) { s.next += 500 << 16; s.says(packets.ACK, s.next) },
	"a guess that met the acknowledgement, healed": func(s *speaker) {
		s.forges(packets.ACK, s.next+20_000<<16, s.acknowledge)
		s.says(packets.ACK, s.next)
	},
}

// speaker is the side of a connection that speaks.
type speaker struct {
	g                 *gateway
	c                 talk
	fromHost          bool
	next, acknowledge uint32
}

func (s *speaker) says(flags packets.Flags, sequence uint32) {
	s.g.t.Helper()
	s.c.says(s.g, s.fromHost, flags, sequence, s.acknowledge)
}

func (s *speaker) forges(flags packets.Flags, sequence, acknowledge uint32) {
	s.g.t.Helper()
	s.g.in(func() error { s.c.forge(s.g, s.fromHost, flags, sequence, acknowledge); return nil })
	if !s.c.stands(s.g) {
		s.g.t.Fatalf("a forged %s changed the state: %v", flags, s.c.states(s.g))
	}
}

// sends goes on by so many segments, of each the other side sees that it came.
func (s *speaker) sends(segments int, units uint32) {
	s.g.in(func() error {
		for range segments {
			s.next += units << 16
			s.c.forge(s.g, s.fromHost, packets.ACK, s.next, s.acknowledge)
		}
		return nil
	})
}

// What both ends mean is believed, whatever the connection went through: aggregates that go on by
// 64 KiB at once, silence, numbers that go round, segments sent again, and what strangers threw in.
func TestGuardBelievesBothEnds(t *testing.T) {
	t.Parallel()
	for origin, open := range talks {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, filtering(model.EndpointIndependent))
			for name, turn := range turns {
				for _, fromHost := range []bool{true, false} {
					for _, end := range []packets.Flags{packets.RST, packets.FIN | packets.ACK} {
						c := open(g)
						s := &speaker{g: g, c: c, fromHost: fromHost, next: clientISN + 1, acknowledge: ackOfHost}
						if fromHost {
							s.next, s.acknowledge = s.acknowledge, s.next
						}
						turn(s)
						before := fmt.Sprint(c.states(g))
						s.says(end, s.next)
						if after := fmt.Sprint(c.states(g)); after == before && (name != "a half-open reset" || end == packets.RST) {
							t.Errorf("%s, from the host: %v: the %s behind it was not believed: %s", name, fromHost, end, after)
						}
						must(g.data.EndAll())(t)
					}
				}
			}
		})
	}
}

// Both ends open at once, by numbers of their own, and one that was closed is opened anew by others.
func TestGuardFollowsEachOpening(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := endpoint(outbound, inA.Port())
	c := talk{private: inA, external: out, remote: web}
	for i, numbers := range [][2]uint32{{5 << 16, 50_000 << 16}, {0x8000_0000, 0x7fff_0000}, {40_000 << 16, 3}} {
		host, peer := numbers[0], numbers[1]
		c.says(g, true, packets.SYN, host, 0)
		c.says(g, false, packets.SYN, peer, 0)
		c.says(g, true, synAck, host, peer+1)
		c.says(g, false, synAck, peer, host+1)
		c.says(g, true, packets.ACK, host+1, peer+1)
		same(g, "state", g.state(), "established")
		c.says(g, i%2 == 0, packets.RST, host+1<<28, 0)
		same(g, "state behind a forged RST", g.state(), "established")
		c.says(g, true, packets.FIN|packets.ACK, host+1, peer+1)
		same(g, "state", g.state(), "fin_out")
		c.says(g, false, packets.FIN|packets.ACK, peer+1, host+2)
		same(g, "state", g.state(), "fin_both")
	}
}

// A forged answer to a SYN moves nothing for good: the host acknowledges the true one.
func TestGuardOutlivesAForgedAnswer(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := endpoint(outbound, inA.Port())
	c := talk{private: inA, external: out, remote: web}
	c.says(g, true, packets.SYN, hostISN, 0)
	c.says(g, false, synAck, 30_000<<16, 7)
	c.says(g, false, synAck, clientISN, ackOfHost)
	c.says(g, false, synAck, 40_000<<16, 7)
	c.says(g, true, packets.ACK, ackOfHost, clientISN+1)
	c.says(g, false, packets.ACK, clientISN+1, ackOfHost)
	c.says(g, false, packets.RST, 40_000<<16, 0)
	same(g, "state behind a forged RST", g.state(), "established")
	c.says(g, false, packets.RST, clientISN+1, 0)
	same(g, "state", g.state(), "rst")
}
