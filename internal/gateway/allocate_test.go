package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

const www = "www.hosta.foo.example."

// The data plane lets a claimer in before we hear of it. Who asks meanwhile,
// by the same resolver, must get another address, and so must everybody later.
func TestSpentBeforeWeHeardOfIt(t *testing.T) {
	for _, again := range []string{"1s", "0s"} {
		t.Run("again "+again, func(t *testing.T) {
			b := newRig(t, strings.Replace(text, "pool: {", "pool: {again: "+again+", ", 1))
			claimer := uint16(5000)
			for round := range 5 {
				// Two questions, one claim that is heard of and one that is not.
				first := b.mustAsk(www)
				if address := b.mustAsk(www); address != first {
					t.Fatalf("round %d: %s, though %s stands", round, address, first)
				}
				offer := b.standing().ID
				for range 2 {
					claimer++
					source := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(claimer >> 8), byte(claimer)}), claimer)
					b.claim(source, first)
				}
				b.hear(datapath.ClaimEvent{ID: offer, At: datapath.Now(), Left: 1})
				second := b.mustAsk(www)
				if again != "0s" && second == first {
					t.Fatalf("round %d: %s, all of whose claims are used", round, second)
				}
				for _, r := range b.open() {
					if _, ok := b.pool.Get(r.ID); !ok {
						t.Fatalf("round %d: the pool knows nothing of %+v, which is open", round, r)
					}
				}
				b.hear(datapath.ClaimEvent{ID: offer, At: datapath.Now()}) // at last, and too late to matter
				claimer++
				b.claim(netip.AddrPortFrom(remote.Addr(), claimer), second)
				b.hear(datapath.ClaimEvent{ID: b.standing().ID, At: datapath.Now()})
			}
			if s := b.pool.Statistics(); s.Cancelled > 0 || s.Claimed != 10 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An entry in which the data plane has an offer that the pool does not know is
// cleared, not met again and again.
func TestStaleReservationGivesWay(t *testing.T) {
	b := newRig(t, text)
	stale := datapath.Reservation{ID: 7 << 32, Address: b.view.Load().config.Pool.Addresses[3],
		Host: netip.MustParseAddr("10.0.0.99"), Expires: datapath.Now() + 1e12, Claims: 1}
	if err := b.data.Offer(stale); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ask(www); err != nil {
		t.Fatal(err)
	}
	if open := b.open(); len(open) != 1 || open[0].ID == stale.ID {
		t.Errorf("open: %+v", open)
	}
}

// A standing offer is never installed again, nor given up because of it.
func TestStandingOfferIsNotLentAgain(t *testing.T) {
	b := newRig(t, text)
	if _, err := b.ask(www); err != nil {
		t.Fatal(err)
	}
	standing := b.standing()
	if address, err := b.lend(datapath.Now(), pool.Request{Name: standing.Name, Host: standing.Host, Requester: standing.Requester,
		Protocol: standing.Protocol, Port: standing.Port, HostPort: standing.HostPort, Query: 99}); err == nil {
		t.Errorf("%s was lent twice", address)
	}
	if _, ok := b.pool.Get(standing.ID); !ok {
		t.Error("the pool has forgotten an offer that is open")
	}
}

// Without further configuration one client gets at least fifty allocations a
// second, whatever names it asks for.
func TestOneClientGetsFiftyNamesASecond(t *testing.T) {
	const rate, seconds = 60, 2
	var hosts strings.Builder
	for n := range rate * seconds {
		fmt.Fprintf(&hosts, "  - name: h%d.foo.example.\n    address: 10.0.2.%d\n    services: [{name: www.h%d.foo.example., protocol: tcp, port: 80}]\n", n, n+1, n)
	}
	r := newRig(t, strings.Replace(text, "198.18.0.32/28", "198.20.0.0/24", 1)+hosts.String())
	began := time.Now()
	for n := range rate * seconds {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / rate)))
		if _, err := r.ask(fmt.Sprintf("www.h%d.foo.example.", n)); err != nil {
			t.Fatalf("question %d: %v", n, err)
		}
	}
	if n := r.pool.Statistics().Offers; n != rate*seconds {
		t.Errorf("%d offers", n)
	}
}

// Refusals by load and reputation are counted apart from those by quotas.
func TestDistrustIsCounted(t *testing.T) {
	r := newRig(t, text)
	for n := range 15 { // whole addresses
		request := requestTo(n)
		request.Protocol, request.Port = model.AnyProtocol, 0
		if _, err := r.lend(datapath.Now(), request); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		r.outcome(datapath.Now(), &pool.Reservation{Requester: remote.Addr(), Name: www, Verified: true}, policy.Abandoned)
	}
	if _, err := r.ask(www); !errors.Is(err, nameserver.ErrRefused) || r.distrusted != 1 {
		t.Errorf("%v, %d counted", err, r.distrusted)
	}
	status, err := r.Status()
	if err != nil || status.DNS.Distrusted != 1 || !strings.Contains(strings.Join(status.Remedies, "\n"), "reputation") {
		t.Errorf("%+v, %q, %v", status.DNS, status.Remedies, err)
	}
}
