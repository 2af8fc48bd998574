package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/nameserver"
)

const www = "www.hosta.foo.example."

// The data plane lets a client in before we hear of it. Whoever asks again meanwhile is answered by another reservation, of
// the same address, and what is heard at last changes nothing.
func TestSpentBeforeWeHeardOfIt(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"1s", "730s"} {
		t.Run("rest "+rest, func(t *testing.T) {
			b := newRig(t, strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, rest: "+rest+", ", 1))
			b.routed()
			lent := b.mustAsk(www)
			const rounds = 5
			for round := range rounds {
				// Nobody who is known yet: its sessions would take no claim.
				asker := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(20 + round)}), 4000)
				ask := func() datapath.Reservation {
					t.Helper()
					if address, err := b.askFrom(asker, www); err != nil || address != lent {
						t.Fatalf("round %d: %s, %v, though the name has %s", round, address, err, lent)
					}
					return b.standing()
				}
				first := ask()
				b.admits(asker, lent, 80)
				second := ask()
				if second.ID == first.ID || second.Claims != 1 {
					t.Errorf("round %d: after %+v, which was used, %+v", round, first, second)
				}
				b.pool.OnClaim(datapath.ClaimEvent{ID: first.ID, At: datapath.Now(), Client: asker.Addr()}) // too late to matter
			}
			s, _ := b.pool.Statistics()
			if open := len(b.open()); s.Active != open || open != 1+rounds || s.Cancelled > 0 || s.Claimed != rounds {
				t.Errorf("%d reservations are open in the data plane, and the pool says %+v", open, s)
			}
		})
	}
}

// An entry in which the data plane has a reservation that the pool does not know is
// cleared, not met again and again.
func TestStaleReservationGivesWay(t *testing.T) {
	t.Parallel()
	b := newRig(t, text)
	place, _ := b.place(www)
	stale := datapath.Reservation{ID: 7 << 32, Binding: place.ID, Asker: remote.Addr(), Expires: datapath.Now() + 1e12, Claims: 1}
	b.must(b.data.Reserve(stale))
	b.mustAsk(www)
	if open := b.open(); len(open) != 1 || open[0].ID == stale.ID {
		t.Errorf("open: %+v", open)
	}
}

// Without further configuration one client gets at least fifty allocations a
// second, whatever names it asks for.
func TestOneClientGetsFiftyNamesASecond(t *testing.T) {
	t.Parallel()
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
	if s, _ := r.pool.Statistics(); s.Reservations != rate*seconds {
		t.Errorf("%d reservations", s.Reservations)
	}
}

// Who keeps as much of the pool unused as it may gets no more of it; that is counted apart from quotas, and told.
func TestDistrustIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(text, "198.18.0.32/28", "198.18.0.32-198.18.0.33", 1)+otherHost("b", 101)+otherHost("c", 102))
	waiting := func() string {
		for _, name := range []string{www, "www.hostb.foo.example.", "www.hostc.foo.example."} {
			if _, has := r.place(name); !has {
				return name
			}
		}
		return ""
	}
	r.mustAsk(waiting()) // it gets a place that nobody has used yet, whose service waits from now on
	if address, err := r.ask(waiting()); !errors.Is(err, nameserver.ErrRefused) {
		t.Errorf("%s, %v", address, err)
	}
	status, err := r.Status()
	if err != nil || status.DNS.Distrusted != 1 || !strings.Contains(strings.Join(status.Warnings, "\n"), "reputation") {
		t.Errorf("%+v, %q, %v", status.DNS, status.Warnings, err)
	}
}

// otherHost has a web server as the first one, so that they cannot share an address.
func otherHost(letter string, last int) string {
	return fmt.Sprintf("  - name: host%s.foo.example.\n    address: 10.0.0.%d\n    services: [{name: www.host%s.foo.example., protocol: tcp, port: 80, to: 8080}]\n",
		letter, last, letter)
}
