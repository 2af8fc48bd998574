package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// with puts data into a segment.
func with(p packets.Packet, data string) packets.Packet {
	p.Payload = []byte(data)
	return p
}

// What proves a client, and what does not, after what its host has sent.
func TestProof(t *testing.T) {
	t.Parallel()
	isn := uint32(hostISN)
	type step struct {
		out    bool // from the host
		flags  packets.Flags
		number uint32 // the host's sequence, or what the client acknowledges
		data   string
		reason model.Reason // "": it passes
	}
	shaken := step{out: true, flags: synAck, number: isn}
	for name, c := range map[string]struct {
		steps  []step
		proved bool
	}{
		"the third packet":                        {[]step{shaken, {flags: packets.ACK, number: isn + 1}}, true},
		"data":                                    {[]step{shaken, {flags: packets.ACK | packets.PSH, number: isn + 1, data: "GET /"}}, true},
		"its end":                                 {[]step{shaken, {flags: packets.ACK | packets.FIN, number: isn + 1}}, true},
		"the number before":                       {[]step{shaken, {flags: packets.ACK, number: isn, reason: "drop_claim_unproved"}}, false},
		"the number behind":                       {[]step{shaken, {flags: packets.ACK, number: isn + 2, reason: "drop_claim_unproved"}}, false},
		"a wrong one, then the right one":         {[]step{shaken, {flags: packets.ACK, number: 7, reason: "drop_claim_unproved"}, {flags: packets.ACK, number: isn + 1}}, true},
		"before the host has said anything":       {[]step{{flags: packets.ACK, number: 0, reason: "drop_claim_unproved"}}, false},
		"no acknowledgement":                      {[]step{shaken, {flags: packets.PSH, number: isn + 1, reason: "drop_tcp_flags"}}, false},
		"an RST, which the host may judge":        {[]step{shaken, {flags: packets.RST | packets.ACK, number: isn + 1}}, false},
		"SYN and ACK again":                       {[]step{shaken, shaken, {flags: packets.ACK, number: isn + 1}}, true},
		"the client's SYN again, and SYN and ACK": {[]step{shaken, {flags: packets.SYN}, shaken, {flags: packets.ACK, number: isn + 1}}, true},
		"a host that begins anew": {[]step{shaken, {out: true, flags: synAck, number: 5000},
			{flags: packets.ACK, number: isn + 1, reason: "drop_claim_unproved"}, {flags: packets.ACK, number: 5001}}, true},
		// The client has the host's data, as TCP Fast Open lets it (RFC 7413): all of them prove.
		"data with the SYN and ACK":       {[]step{{out: true, flags: synAck, number: isn, data: "hello"}, {flags: packets.ACK, number: isn + 6}}, true},
		"a part of them":                  {[]step{{out: true, flags: synAck, number: isn, data: "hello"}, {flags: packets.ACK, number: isn + 3}}, true},
		"more than there was":             {[]step{{out: true, flags: synAck, number: isn, data: "hello"}, {flags: packets.ACK, number: isn + 7, reason: "drop_claim_unproved"}}, false},
		"a server that speaks first":      {[]step{shaken, {out: true, flags: packets.ACK | packets.PSH, number: isn + 1, data: "220 "}, {flags: packets.ACK, number: isn + 5}}, true},
		"and says goodbye":                {[]step{shaken, {out: true, flags: packets.ACK | packets.FIN, number: isn + 1, data: "220 "}, {flags: packets.ACK, number: isn + 6}}, true},
		"a simultaneous open":             {[]step{{out: true, flags: packets.SYN, number: isn}, {flags: synAck, number: isn + 1}}, true},
		"a simultaneous open, by its ACK": {[]step{{out: true, flags: packets.SYN, number: isn}, {flags: packets.SYN}, shaken, {flags: packets.ACK, number: isn + 1}}, true},
		"the host's refusal":              {[]step{{out: true, flags: packets.RST | packets.ACK}, {flags: packets.ACK, number: 1, reason: "drop_claim_unproved"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			r := g.lend(pool1, 80, service, nil)
			g.knocks(client)
			for _, s := range c.steps {
				from, to, number := client, lent, [2]uint32{clientISN + 1, s.number}
				if s.out {
					from, to, number = service, client, [2]uint32{s.number, clientISN + 1}
				}
				if s.flags == packets.SYN && !s.out {
					number = [2]uint32{clientISN, 0}
				}
				p := with(segment(from, to, s.flags, number[0], number[1]), s.data)
				want := with(segment(client, service, s.flags, number[0], number[1]), s.data)
				if s.out {
					want = with(segment(lent, client, s.flags, number[0], number[1]), s.data)
				}
				if s.reason != "" {
					g.dropped(g.put(p), s.reason)
				} else {
					g.leaves(g.put(p), want)
				}
			}
			same(g, "tentative", g.sessions()[0].Tentative, !c.proved)
			same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, map[bool]int{true: 1, false: 0}[c.proved])
			g.sound()
		})
	}
}

// The client's ACK is lost: its data prove it, and a server's retransmitted SYN and ACK keeps
// the session until then.
func TestProofWhenTheLastACKIsLost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.knocks(client)
	g.answers(client, lent, service)
	for range 3 {
		g.idle(2 * time.Second)
		g.answers(client, lent, service)
	}
	g.idle(2 * time.Second)
	g.leaves(g.put(with(proof(client, lent), "GET /")), with(proof(client, service), "GET /"))
	same(g, "state", g.state(), "established")
}

// TCP Fast Open: the SYN brings data, which go to the host, and prove nothing.
func TestFastOpenProvesNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.leaves(g.put(with(syn(client), "GET /")), with(segment(client, service, packets.SYN, clientISN, 0), "GET /"))
	same(g, "claims left", must(g.data.Withdraw(r.ID))(t).Left, 1)
}

// A browser's six connections begin at once: one claim is enough.
func TestSixConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Asker = client.Addr() })
	for n := range uint16(6) {
		g.knocks(endpoint(remote, 50000+n))
	}
	for n := range uint16(6) {
		from := endpoint(remote, 50005-n)
		g.answers(from, lent, service)
		g.leaves(g.put(proof(from, lent)), proof(from, service))
	}
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 1)
	g.sound()
}

// 3 s behind the last SYN, or SYN and ACK, a tentative session is as if it were not there, by
// its stamp: nobody sweeps.
func TestTentativeSessionsEndByTheirStamps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		idle time.Duration
		live bool
	}{"before": {2900 * time.Millisecond, true}, "behind": {3700 * time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = 2 })
			g.knocks(client)
			g.answers(client, lent, service)
			check(t, dataplane.Age(g.data, c.idle))
			if c.live {
				g.leaves(g.put(proof(client, lent)), proof(client, service))
				return
			}
			g.dropped(g.put(proof(client, lent)), "drop_not_syn")
			again := segment(service, client, synAck, hostISN, clientISN+1)
			g.reset(g.put(again), again, "drop_not_syn")
			g.visits(client) // a new SYN takes it over
			g.count(1)
			g.sound()
		})
	}
}

// The host itself connects with the tuple of a tentative session that is over.
func TestHostTakesTheTupleOfAnOldTentativeSession(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.knocks(client)
	check(t, dataplane.Age(g.data, 4*time.Second))
	g.forwarded(g.put(tcp(service, client, packets.SYN)))
	same(g, "origin", g.sessions()[0].Origin, "inside")
	g.sound()
}

// flood sends the SYNs of strangers first to last-1, as fast as it can.
func (g *gateway) flood(first, last int) {
	g.t.Helper()
	g.in(func() error {
		for n := first; n < last; n++ {
			if _, _, err := g.inject(true, g.public, outside(syn(stranger(n))).Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
}

// I2: of two who knock for one claim the first who proves itself wins; the other's session is
// over for both its ends.
func TestLoserOfAClaim(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing)
	g.lend(pool1, 80, service, nil)
	g.knocks(client)
	g.knocks(client2)
	g.answers(client, lent, service)
	g.answers(client2, lent, service)
	g.leaves(g.put(proof(client2, lent)), proof(client2, service))
	g.reset(g.put(proof(client, lent)), proof(client, lent), "drop_claim_lost")
	again := segment(service, client, synAck, hostISN, clientISN+1)
	g.reset(g.put(again), again, "drop_not_syn")
	g.count(1)
	g.sound()
}
