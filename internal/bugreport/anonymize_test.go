package bugreport

import (
	"math/bits"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shared is how many bits two addresses have in common.
func shared(a, b netip.Addr) int {
	x, y := a.AsSlice(), b.AsSlice()
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			return 8*i + bits.LeadingZeros8(d)
		}
	}
	return 8 * len(x)
}

// As many bits are shared after as before, of IPv4 and of IPv6, and so none becomes another's.
func TestAddressesKeepTheirStructure(t *testing.T) {
	t.Parallel()
	a := NewAnonymizer([]byte("key"), nil)
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int{4, 16}).Draw(t, "length")
		octets := rapid.SliceOfN(rapid.Byte(), length, length)
		one, other := octets.Draw(t, "one"), octets.Draw(t, "other")
		copy(other, one[:rapid.IntRange(0, length).Draw(t, "same")])
		x, _ := netip.AddrFromSlice(one)
		y, _ := netip.AddrFromSlice(other)
		if x.Is4In6() || y.Is4In6() {
			t.Skip("they are written as IPv4")
		}
		if before, after := shared(x, y), shared(a.of(x), a.of(y)); before != after {
			t.Fatalf("%s and %s share %d bits, and %s and %s %d", x, y, before, a.of(x), a.of(y), after)
		}
	})
}

func TestAnonymize(t *testing.T) {
	t.Parallel()
	const text = `hosta.foo.example. at 10.0.0.100 in 10.0.0.0/24, by 02:00:00:00:00:01 and 2001:db8::7, 127.0.0.1 0.0.0.0/0 ::1
www.hosta.foo.example. 10.0.0.101:8080 version 1.2.3 at 12:30:45 in internal/cli/root.go on edge-gw, again 10.0.0.100`
	clean := func(key string) string {
		return string(NewAnonymizer([]byte(key), []string{"foo.example.", "edge-gw"}).Clean([]byte(text)))
	}
	got := clean("one")
	for _, gone := range []string{"hosta", "foo", "10.0.0.", "2001:db8", "02:00:00", "edge-gw"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is left in\n%s", gone, got)
		}
	}
	for _, kept := range []string{"127.0.0.1 0.0.0.0/0 ::1", "version 1.2.3 at 12:30:45 in internal/cli/root.go", ":8080", "/24"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is lost from\n%s", kept, got)
		}
	}
	words := strings.Fields(got)
	if first, last := words[2], words[len(words)-1]; first != last {
		t.Errorf("10.0.0.100 is %s and %s", first, last)
	}
	network, err := netip.ParsePrefix(strings.TrimSuffix(words[4], ","))
	if err != nil || network != network.Masked() || !network.Contains(netip.MustParseAddr(words[2])) {
		t.Errorf("%s, %v, does not have %s", words[4], err, words[2])
	}
	if zone := words[0][strings.Index(words[0], "."):]; !strings.HasSuffix(words[12], zone) {
		t.Errorf("names of one zone are of two: %q", words)
	}
	if clean("one") != got || clean("another") == got {
		t.Error("one key writes in two ways, or two keys in one")
	}
}
