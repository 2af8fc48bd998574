package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// at once runs f on several threads in the gateway's namespace, each with its
// number.
func (g *gateway) atOnce(threads int, f func(thread int) error) {
	g.t.Helper()
	var begin, end sync.WaitGroup
	begin.Add(1)
	errs := make([]error, threads)
	for thread := range threads {
		end.Add(1)
		go func() {
			defer end.Done()
			errs[thread] = g.namespace.Do(func() error {
				begin.Wait()
				return f(thread)
			})
		}()
	}
	begin.Done()
	end.Wait()
	for _, err := range errs {
		check(g.t, err)
	}
}

// untilForwarded sends a frame from inside again while it is dropped, as a sender
// would: an interrupted CPU may hold a lock for long (drop_busy).
func (g *gateway) untilForwarded(frame []byte) ([]byte, error) {
	for range 100 {
		action, out, err := g.inject(false, g.private, frame)
		if err != nil || action == dataplane.Redirect {
			return out, err
		}
	}
	return nil, errors.New("dropped 100 times")
}

// Of packets that would open the same session at once, one does.
func TestConcurrentFirstPackets(t *testing.T) {
	t.Parallel()
	const threads, flows = 4, 500
	g := newGateway(t)
	outs := [threads][flows]netip.AddrPort{}
	g.atOnce(threads, func(thread int) error {
		for n := range flows {
			// All from one inside port: every mapping but one is a conflict.
			frame, err := g.untilForwarded(inside(udp(endpoint(host(n), 40000), server)).Bytes())
			if err != nil {
				return err
			}
			p, err := packets.Parse(frame)
			if err != nil {
				return err
			}
			outs[thread][n] = p.Tuple().Source
		}
		return nil
	})
	owner := map[netip.AddrPort]int{}
	for n := range flows {
		for thread := range threads {
			if outs[thread][n] != outs[0][n] {
				t.Fatalf("host %d: %s and %s", n, outs[0][n], outs[thread][n])
			}
		}
		if other, taken := owner[outs[0][n]]; taken {
			t.Fatalf("hosts %d and %d share %s", n, other, outs[0][n])
		}
		owner[outs[0][n]] = n
	}
	g.count(flows)
	usage := must(g.data.Usage())(t)
	same(g, "sessions", usage.Sessions, flows)
	same(g, "mappings", usage.Mappings, flows)
}

// shakes does a client's handshake on this CPU, and reports whether it got in.
func (g *gateway) shakes(from, to, host netip.AddrPort) (in bool, err error) {
	for _, step := range []struct {
		public bool
		packet packets.Packet
	}{
		{true, outside(segment(from, to, packets.SYN, clientISN, 0))},
		{false, inside(segment(host, from, synAck, hostISN, clientISN+1))},
		{true, outside(proof(from, to))},
	} {
		ifindex := map[bool]int{true: g.public, false: g.private}[step.public]
		action, _, err := g.inject(step.public, ifindex, step.packet.Bytes())
		if err != nil || action != dataplane.Redirect {
			return false, err
		}
	}
	return true, nil
}

// Of many clients at once, as many as there are claims get in.
func TestConcurrentClaims(t *testing.T) {
	t.Parallel()
	const threads, each, granted = 4, 100, 7
	g := newGateway(t)
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = granted })
	in := [threads]int{}
	g.atOnce(threads, func(thread int) error {
		for n := range each {
			ok, err := g.shakes(endpoint(netip.AddrFrom4([4]byte{192, 0, byte(thread), byte(1 + n)}), 50000), lent, service)
			if err != nil {
				return err
			}
			if ok {
				in[thread]++
			}
		}
		return nil
	})
	same(g, "clients that got in", in[0]+in[1]+in[2]+in[3], granted)
	same(g, "what became of the claims", must(g.data.Withdraw(r.ID))(t).Used, granted)
	g.sound()
}

// Several CPUs race for one claim: there is one winner, and all others are out (I2).
func TestOneWinnerOfAClaim(t *testing.T) {
	t.Parallel()
	const threads, rounds = 4, 200
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	for n := range rounds {
		clients := [threads]netip.AddrPort{}
		r := g.reserve(b, nil)
		for i := range clients {
			clients[i] = endpoint(netip.AddrFrom4([4]byte{192, byte(i), byte(n), 1}), 50000)
			g.knocks(clients[i])
			g.answers(clients[i], lent, service)
		}
		won := [threads]bool{}
		g.atOnce(threads, func(thread int) error {
			action, _, err := g.inject(true, g.public, outside(proof(clients[thread], lent)).Bytes())
			won[thread] = action == dataplane.Redirect
			return err
		})
		winners := 0
		for i, c := range clients {
			if won[i] {
				winners++
				continue
			}
			g.dropped(g.put(segment(c, lent, packets.ACK, clientISN+1, 0)), "drop_not_syn") // its session is gone
		}
		same(g, "winners", winners, 1)
		same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 1)
	}
	g.sound()
}

// A browser's connections are proved at once on several CPUs: one claim is enough for all.
func TestOneClaimForAllOfAClient(t *testing.T) {
	t.Parallel()
	const threads, rounds = 4, 200
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080), tcpPort(443, 5000))
	ways := []struct{ to, host netip.AddrPort }{{lent, service}, {endpoint(pool1, 443), endpoint(hostA, 5000)}}
	for n := range rounds {
		from := netip.AddrFrom4([4]byte{192, 0, byte(n), 1})
		g.reserve(b, func(r *datapath.Reservation) { r.Asker = from })
		for i := range threads {
			c, way := endpoint(from, uint16(50000+i)), ways[i%2]
			g.forwarded(g.put(segment(c, way.to, packets.SYN, clientISN, 0)))
			g.answers(c, way.to, way.host)
		}
		g.atOnce(threads, func(thread int) error {
			p := outside(proof(endpoint(from, uint16(50000+thread)), ways[thread%2].to))
			action, _, err := g.inject(true, g.public, p.Bytes())
			if err == nil && action != dataplane.Redirect {
				err = fmt.Errorf("round %d: connection %d is out", n, thread)
			}
			return err
		})
	}
	g.sound()
}

// Clients of a whole host meet under no common lock: the claims alone count
// them.
func TestConcurrentClaimsOfAWholeHost(t *testing.T) {
	t.Parallel()
	const threads, each, granted = 4, 2000, 800
	g := newGateway(t)
	r := g.lend(pool1, 0, endpoint(hostA, 0), func(r *datapath.Reservation) { r.Claims = granted })
	in := [threads]int{}
	g.atOnce(threads, func(thread int) error {
		for n := range each {
			from := endpoint(netip.AddrFrom4([4]byte{192, byte(n >> 7), byte(thread), byte(1 + n%128)}), 50000)
			to := endpoint(pool1, uint16(1000+thread*each+n))
			action, _, err := g.inject(true, g.public, outside(udp(from, to)).Bytes())
			if err != nil {
				return err
			}
			if action != dataplane.Drop {
				in[thread]++
			}
		}
		return nil
	})
	same(g, "clients that got in", in[0]+in[1]+in[2]+in[3], granted)
	g.count(granted)
	same(g, "what became of the claims", must(g.data.Withdraw(r.ID))(t).Used, granted)
}

// Withdrawing races with the claim: either it comes first, or it hears of it.
func TestWithdrawRacesWithClaim(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	for n := range 200 {
		r := g.reserve(b, nil)
		from := stranger(n)
		g.knocks(from)
		g.answers(from, lent, service)
		var claimed bool
		var withdrawn datapath.Withdrawn
		g.atOnce(2, func(thread int) error {
			var err error
			if thread == 0 {
				var action dataplane.Action
				action, _, err = g.inject(true, g.public, outside(proof(from, lent)).Bytes())
				claimed = action == dataplane.Redirect
				return err
			}
			withdrawn, err = g.data.Withdraw(r.ID)
			return err
		})
		if claimed != (withdrawn.Used == 1) {
			t.Fatalf("claimed: %v, but %+v", claimed, withdrawn)
		}
	}
}

// A binding moves while its clients knock: whoever gets in meets the host that it was bound to
// when it was told (I9), and the slot is not used again while a record names it.
func TestUnbindRacesWithClaim(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for n := range 200 {
		b := g.bind(pool1, hostA, tcpPort(80, 8080))
		g.reserve(b, nil)
		from := stranger(n)
		var claimed bool
		g.atOnce(2, func(thread int) error {
			if thread == 0 {
				var err error
				claimed, err = g.shakes(from, lent, service)
				return err
			}
			return g.data.Unbind(b.ID)
		})
		delete(g.bound, public{pool1, model.TCP, 80})
		_, sessions := g.data.BindingUse(b.ID)
		same(g, "sessions", sessions, map[bool]int{true: 1, false: 0}[claimed])
		if claimed && g.data.SlotVacant(uint32(b.ID)) {
			t.Fatal("the slot is vacant, and a session stands")
		}
		must(g.data.EndAll())(t)
		if !g.data.SlotVacant(uint32(b.ID)) {
			t.Fatal("the slot is not vacant, and no session is left")
		}
	}
	g.sound()
}

// Sessions that end and begin at once leave nothing behind.
func TestConcurrentSweep(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.PortQuarantine = 0 }))
	g.settings.Timeouts[model.TimeoutUDP] = 0
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	g.atOnce(3, func(thread int) error {
		for n := range 2000 {
			if thread == 0 {
				if _, err := g.data.Sweep(nil); err != nil {
					return err
				}
				if n == 100 {
					return nil
				}
				continue
			}
			frame := inside(udp(endpoint(host(n%100), 40000), endpoint(remote, uint16(1+n%7)))).Bytes()
			if _, _, err := g.inject(false, g.private, frame); err != nil {
				return err
			}
		}
		return nil
	})
	g.idle(5 * dataplane.Tick)
	g.idle(10 * dataplane.Tick)
	usage := must(g.data.Usage())(t)
	same(g, "what is left", fmt.Sprint(usage.Sessions, usage.Mappings), "0 0")
}
