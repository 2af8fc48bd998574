package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/test/dataplane"
)

// overflowRing is how many places each binding has for tentative sessions: 4,096 sessions / 16 / 16 bindings.
const overflowRing = 16

// overflowing is a gateway whose binding of lent has no room for further unproved sessions, but claims for others.
func overflowing(t *testing.T, claims int, change ...option) (*gateway, datapath.Reservation) {
	t.Helper()
	g := newGateway(t, append(change, func(s *setup) { s.Bindings = 16 })...)
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = claims })
	g.flood(0, overflowRing)
	g.count(overflowRing)
	return g, r
}

// least is what clients are promised then.
var least = datapath.LeastWebPromise

// caller is a client of lent. Those who have the places begin anew: on a busy machine their three seconds may be nearly over.
func (g *gateway) caller(client netip.AddrPort, can, host ability) *visit {
	g.t.Helper()
	g.flood(0, overflowRing)
	v := g.visitor(client, can, host)
	v.to, v.at = lent, service
	return v
}

// acks is the client's third packet.
func (v *visit) acks() packets.Packet { return v.from(packets.ACK, v.isn+1, v.cookie+1, "", nil) }

// cookies are the sessions that were opened by one.
func (g *gateway) cookies() (list []datapath.Session) {
	for _, s := range g.sessions() {
		if s.Origin == "cookie" {
			list = append(list, s)
		}
	}
	return list
}

// Whoever has a place keeps it, whatever comes behind: that is answered by cookies, of which nothing is kept. Other
// bindings have places of their own.
func TestOverflowTakesNothingFromWhoWasThere(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(s *setup) { s.Bindings = 16 })
	other := endpoint(pool2, 80)
	g.lend(pool1, 80, service, nil)
	g.lend(pool2, 80, endpoint(hostB, 8080), nil)
	g.knocks(client)
	g.flood(0, 20*overflowRing)
	g.count(overflowRing)
	same(g, "SYNs answered by cookies", g.counters()["answered_cookie"], 20*overflowRing-overflowRing+1)
	g.answers(client, lent, service)
	g.leaves(g.put(proof(client, lent)), proof(client, service))
	g.established(client2, other, endpoint(hostB, 8080))
	g.sound()
}

// The ACK, the first data, or one behind the other become the SYN to the host; all that either can is translated.
func TestOverflowHandshake(t *testing.T) {
	t.Parallel()
	g, r := overflowing(t, 100)
	port, opened := uint16(50000), 0
	for _, can := range []ability{fullAbility, {536, -1, false, false}, {1400, 14, true, false}} {
		for _, host := range []ability{fullAbility, {1460, -1, true, true}, {9000, 2, false, false}} {
			for name, proves := range map[string]func(*visit){
				"the ACK":  func(v *visit) { v.calls(v.acks()) },
				"the data": func(v *visit) { v.calls(v.first("GET /")) },
				"both":     func(v *visit) { v.calls(v.acks()); v.calls(v.first("GET /")) },
			} {
				port++
				v := g.caller(endpoint(remote, port), can, host)
				t.Logf("client: %s, host: %s, by %s", can, host, name)
				v.knocks(least)
				proves(v)
				later := v.from(packets.ACK, v.isn+1000, v.cookie+1, "more", nil)
				g.dropped(g.put(later), "drop_claim_unproved") // nobody acknowledges them: they come again
				v.answered()
				v.talks()
				opened++
			}
		}
	}
	g.tells()
	list := g.cookies()
	same(g, "sessions by cookies", len(list), opened)
	for _, s := range list {
		if s.Tentative || s.State != "established" || s.Binding != r.Binding {
			t.Errorf("%+v", s)
		}
	}
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 1) // one address: known from its first on
	g.sound()
}

// A server that speaks first: nothing but the ACK comes from its client.
func TestOverflowServerFirst(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.answered()
	isn := uint32(hostISN)
	got := g.forwarded(g.put(v.says(packets.ACK|packets.PSH, isn+1, v.isn+1, "220 mail", nil)))
	same(g, "the greeting's numbers", [2]uint32{got.TCP.Sequence, got.TCP.Acknowledge}, [2]uint32{v.cookie + 1, v.isn + 1})
	got = g.forwarded(g.put(v.from(packets.ACK, v.isn+1, v.cookie+9, "", nil)))
	same(g, "its acknowledgement", got.TCP.Acknowledge, isn+9)
	g.sound()
}

// What brings no cookie of this connection opens nothing.
func TestOverflowBelievesNoOtherNumber(t *testing.T) {
	t.Parallel()
	g, r := overflowing(t, 1, refusing)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	for name, p := range map[string]packets.Packet{
		"another number":      v.from(packets.ACK, v.isn+1, v.cookie+1+1<<13, "", nil),
		"another offer":       v.from(packets.ACK, v.isn+1, v.cookie+1+1<<25, "", nil),
		"of another port":     segment(endpoint(remote, 6), lent, packets.ACK, v.isn+1, v.cookie+1),
		"of another address":  segment(client2, lent, packets.ACK, v.isn+1, v.cookie+1),
		"none of ours at all": v.from(packets.ACK|packets.PSH, v.isn+1, 12345, "GET /", nil),
	} {
		t.Log(name)
		g.reset(g.put(p), p, "drop_cookie")
	}
	g.dropped(g.put(v.from(packets.ACK, v.isn+2, v.cookie+1, "", nil)), "drop_claim_unproved")
	g.dropped(g.put(v.from(packets.RST|packets.ACK, v.isn+1, v.cookie+1, "", nil)), "drop_not_syn")
	g.count(overflowRing)
	v.calls(v.acks())
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 1)
	g.sound()
}

// I2: of two who bring their cookies for one claim the first wins, and the other is told.
func TestOverflowClaimsOnce(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v, w := g.caller(client, fullAbility, fullAbility), g.caller(client2, fullAbility, fullAbility)
	v.knocks(least)
	w.knocks(least)
	w.calls(w.acks())
	r := g.put(v.acks())
	if r.action != dataplane.Redirect || r.reason != "drop_no_reservation" {
		t.Fatalf("%v, %s", r.action, r.reason)
	}
	same(g, "flags", r.packet.TCP.Flags, packets.RST)
	same(g, "number", r.packet.TCP.Sequence, v.cookie+1)
	same(g, "to", r.packet.Tuple().Destination, v.client)
	same(g, "sessions by cookies", len(g.cookies()), 1)
	// Nor is anybody answered by a cookie for whom there is nothing.
	g.dropped(g.put(segment(endpoint(remote, 7), lent, packets.SYN, clientISN, 0)), "drop_no_reservation")
	// The winner is known, and may open more.
	x := g.caller(endpoint(client2.Addr(), 50001), fullAbility, fullAbility)
	x.knocks(least)
	x.calls(x.acks())
	w.answered()
	x.answered()
	same(g, "sessions by cookies", len(g.cookies()), 2)
	g.sound()
}

// refused wants the client to hear the end, with the number that it was promised.
func (v *visit) refused(r result) {
	g := v.gateway
	g.t.Helper()
	got := g.forwarded(r)
	same(g, "flags", got.TCP.Flags, packets.RST|packets.ACK)
	same(g, "numbers", [2]uint32{got.TCP.Sequence, got.TCP.Acknowledge}, [2]uint32{v.cookie + 1, v.isn + 1})
	same(g, "from", got.Tuple().Source, lent)
	same(g, "to", got.Tuple().Destination, client)
	g.correct(got)
}

// The host says no: its client hears that with the number that it was promised.
func TestOverflowHostRefuses(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.refused(g.put(v.says(packets.RST|packets.ACK, 0, v.isn+1, "", nil)))
	g.count(overflowRing)
	g.sound()
}

// A silent host: what comes again calls it again, and after 3 s anew; the client is known by then.
func TestOverflowSilentHost(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	check(t, dataplane.Age(g.data, 4*time.Second))
	v.calls(v.first("GET /"))
	same(g, "sessions by cookies", len(g.cookies()), 1)
	v.answered()
	v.talks()
	g.sound()
}

// When there is room again SYNs go to the host as ever, and the cookies that are under way are still good.
func TestOverflowEnds(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 2)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	check(t, dataplane.Age(g.data, 4*time.Second))
	g.visits(client2)
	v.calls(v.acks())
	v.answered()
	v.talks()
	g.sound()
}

// A host that takes shorter segments than its client was promised: both are told, and the next is promised no more.
func TestOverflowHostOfShortSegments(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	short := ability{mss: 536, scale: 7}
	v := g.caller(client, fullAbility, short)
	v.knocks(least)
	v.calls(v.acks())
	r := g.put(v.says(synAck, hostISN, v.isn+1, "", short.options(0, 0)))
	same(g, "reason", r.reason, "drop_host_options")
	same(g, "the host hears", r.packet.TCP.Flags, packets.RST|packets.ACK)
	w := g.caller(endpoint(client.Addr(), 50001), fullAbility, short)
	w.knocks(datapath.WebPromise{MSS: 536})
	w.calls(w.acks())
	w.answered()
	w.talks()
	g.sound()
}

// A port is used again when its session closes: by a cookie or without, what comes is of the new connection.
func TestOverflowPortAgain(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.answered()
	g.forwarded(g.put(v.from(packets.RST|packets.ACK, v.isn+1, v.cookie+1, "", nil)))
	w := g.caller(client, fullAbility, fullAbility)
	w.isn = v.isn + 1<<24
	w.knocks(least)
	w.calls(w.acks())
	w.answered()
	w.talks()
	g.forwarded(g.put(w.from(packets.RST|packets.ACK, w.isn+24, w.cookie+1, "", nil)))
	check(t, dataplane.Age(g.data, 4*time.Second))
	g.visits(client)
	g.sound()
}

// A client that goes before its host has answered takes the session with it, and the host hears; a guess does not.
func TestOverflowClientGoes(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	v := g.caller(client, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	g.dropped(g.put(v.from(packets.RST, v.isn+2, 0, "", nil)), "drop_not_syn")
	same(g, "sessions by cookies", len(g.cookies()), 1)
	got := g.forwarded(g.put(v.from(packets.RST, v.isn+1, 0, "", nil)))
	same(g, "the host hears", got.TCP.Flags, packets.RST)
	same(g, "its number", got.TCP.Sequence, v.isn+1)
	g.count(overflowRing)
	g.sound()
}

// From inside, by a hairpin, nobody is answered by a cookie, and nobody's place is taken.
func TestOverflowHairpin(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	inside := endpoint(hostB, 45678)
	external := g.forwarded(g.put(segment(inside, lent, packets.SYN, clientISN, 0))).Tuple().Source
	g.count(overflowRing + 2)
	got := g.forwarded(g.put(segment(service, external, synAck, hostISN, clientISN+1)))
	same(g, "to", got.Tuple().Destination, inside)
	g.forwarded(g.put(proof(inside, lent)))
	g.sound()
}

// What a client says before its host has answered reaches nobody, by a cookie or by a name: functions are to see the first
// bytes that do.
func TestFirstBytesBehindCookies(t *testing.T) {
	t.Parallel()
	g, _ := overflowing(t, 1)
	g.serves(least)
	g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: firstbytes.FirstBytes{Deny: signatures("SSH-")}}})
	v, w := g.caller(client, fullAbility, fullAbility), g.visitor(client2, fullAbility, fullAbility)
	v.knocks(least)
	v.calls(v.acks())
	v.calls(v.first("GET /"))
	v.answered()
	w.knocks(least)
	w.connects("GET /")
	w.opens()
	for _, x := range []*visit{v, w} {
		g.dropped(g.put(x.first("SSH-2.0")), "drop_denied")
		g.forwarded(g.put(x.first("GET /")))
	}
}

// Of many who bring their cookies at once, as many as there are claims get in; each segment comes twice.
func TestOverflowConcurrentClaims(t *testing.T) {
	t.Parallel()
	const threads, each, claims = 4, 50, 7
	g, _ := overflowing(t, claims)
	var acks [threads * each][]byte
	for n := range acks {
		v := g.caller(netip.AddrPortFrom(stranger(1000+n).Addr(), 50000), fullAbility, fullAbility)
		v.knocks(least)
		acks[n] = outside(v.acks()).Bytes()
	}
	g.atOnce(threads, func(thread int) error {
		for n := range acks { // all of them, by turns
			if _, _, err := g.inject(true, g.public, acks[(n+thread*each/2)%len(acks)]); err != nil {
				return err
			}
		}
		return nil
	})
	same(g, "sessions by cookies", len(g.cookies()), claims)
	g.sound()
}
