package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
)

// TestGeofenceDefect9_FullQueueIsCounted: where nobody reads who fell into the honeypot,
// packets are judged as before, and each that found no room is counted.
func TestGeofenceDefect9_FullQueueIsCounted(t *testing.T) {
	t.Parallel()
	const tries = 400
	g := newGateway(t)
	g.protected(nf.Addresses{})
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	proof := acknowledge(from, to, g.knock(from, to))
	for range tries {
		g.dropped(g.put(proof), "drop_honeypot")
	}
	lost := must(g.data.Usage())(t).EventsLost
	told := uint64(0)
	var events *datapath.Events[datapath.HoneypotEvent]
	g.in(func() (err error) { events, err = g.data.HoneypotEvents(); return err })
	defer func() { _ = events.Close() }()
	events.SetDeadline(time.Now())
	for {
		if _, err := events.Next(); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		told++
	}
	if lost == 0 || told == 0 || told+lost != tries {
		t.Errorf("of %d events %d were told and %d lost", tries, told, lost)
	}
}

// TestProtectionRule7_UnprovenIsOnlyDropped: of a flood of SYNs with any sources a bounded
// number is answered, fewer where the kernel has to ask for the sources as neighbours; all
// others are dropped, and nobody is told of for it.
func TestProtectionRule7_UnprovenIsOnlyDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		network [3]byte
		most    int // of each CPU and tick: HONEYPOT_ANSWERS_PER_TICK, HONEYPOT_UNRESOLVED_PER_TICK
	}{"beyond the router": {[3]byte{203, 0, 113}, 256}, "on the link": {[3]byte{198, 18, 0}, 16}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.protected(nf.Addresses{})
			to := netip.AddrPortFrom(publicAddress, telnet)
			began := time.Now()
			for n := 0; g.counters()["drop_honeypot"] < 1000; n++ {
				if n == 100 {
					t.Fatalf("all were answered: %v", g.counters())
				}
				g.in(func() (err error) {
					for n := range 2000 {
						from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{c.network[0], c.network[1], c.network[2], byte(100 + n%100)}), uint16(1024+n))
						_, _, err2 := g.inject(true, g.public, addressed(tcp(from, to, packets.SYN)).Bytes())
						err = errors.Join(err, err2)
					}
					return err
				})
			}
			answered := int(g.counters()["answered_honeypot"])
			if bound := c.most * runtime.NumCPU() * (int(time.Since(began)/dataplane.Tick) + 2); answered == 0 || answered > bound {
				t.Errorf("%d SYNs were answered, at most %d should be", answered, bound)
			}
			g.hits()
		})
	}
}

// TestProtectionRule12_NoPacketMeetsTwoGenerations: while protections change, none of what
// all of them allow is lost, and nothing passes that all of them deny, each by another list.
func TestProtectionRule12_NoPacketMeetsTwoGenerations(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	good, bad := udp(endpoint(remote2, 40000), endpoint(publicAddress, 53)), udp(endpoint(remote, 40000), endpoint(publicAddress, 53))
	policies := []nf.Addresses{
		{Blocked: setOf("203.0.113.10/32")}, {Fenced: setOf("203.0.113.10/31"), Allowed: setOf("203.0.113.11/32")},
	}
	put := func(of nf.Addresses) error {
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: of, Out: of}}},
			{Name: "blocklist", Number: 2, Function: nf.Blocklist{}}, {Name: "geofence", Number: 3, Function: nf.Geofence{}},
		}})
	}
	g.in(func() error { return put(policies[0]) })
	frames := map[dataplane.Action][]byte{dataplane.Pass: addressed(good).Bytes(), dataplane.Drop: addressed(bad).Bytes()}
	g.during(func() error {
		for want, f := range frames {
			if action, _, err := g.inject(true, g.public, f); err != nil || action != want {
				return fmt.Errorf("%v, want %v: %w", action, want, err)
			}
		}
		return nil
	}, func() error {
		for n := range 2 * *swaps {
			if err := put(policies[(n+1)%2]); err != nil {
				return err
			}
		}
		return nil
	})
	counters := g.counters()
	if n := counters[model.Reason("drop_internal")]; n > 0 || counters["drop_denied"] == 0 || counters["to_gateway"] == 0 {
		t.Errorf("%d packets met no policy; counted are %v", n, counters)
	}
}
