package machine

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Where an address is, is looked up once, until routes change or it is long ago; no more is remembered than there is room for.
func TestLocality(t *testing.T) {
	var l locality
	looked := 0
	inside := netip.MustParsePrefix("10.0.0.0/8")
	ask := func(a netip.Addr, now model.Instant) bool {
		return l.isInside(a, now, func(a netip.Addr) bool { looked++; return inside.Contains(a) })
	}
	host, stranger := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("203.0.113.7")
	want := func(about string, times int, now model.Instant) {
		t.Helper()
		looked = 0
		if !ask(host, now) || ask(stranger, now) || looked != times {
			t.Errorf("%s: looked up %d times", about, looked)
		}
	}
	want("new", 2, 0)
	want("known", 0, localityLasts-1)
	want("long ago", 2, localityLasts)
	inside = netip.MustParsePrefix("10.0.0.0/16")
	l.forget()
	want("routes have changed", 2, localityLasts+1)
	for n := range 2 * localityMost {
		ask(netip.AddrFrom4([4]byte{172, 16, byte(n >> 8), byte(n)}), localityLasts)
		if len(l.known) > localityMost {
			t.Fatalf("%d are remembered", len(l.known))
		}
	}
}
