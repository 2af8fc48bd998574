package wire

import (
	"net/netip"
	"testing"
)

// A peer does not have our packets go to anybody: where its address is configured that counts.
func TestWhereTunnelsEnd(t *testing.T) {
	t.Parallel()
	ours := netip.MustParseAddr("198.18.0.1")
	at := func(text string, priority int) Locator {
		return Locator{Address: netip.MustParseAddr(text), Priority: priority}
	}
	for _, test := range []struct {
		configured string
		locators   []Locator
		want       string // "": nowhere
	}{
		{"203.0.113.9", []Locator{at("192.0.2.9", 0)}, "203.0.113.9:6081"},
		{"203.0.113.9", nil, "203.0.113.9:6081"},
		{"203.0.113.9", []Locator{at("192.0.2.9", 0), {Address: netip.MustParseAddr("203.0.113.9"), Port: 7000}}, "203.0.113.9:7000"},
		{"", []Locator{at("192.0.2.9", 2), at("192.0.2.8", 1), at("10.1.2.3", 3)}, "192.0.2.8:6081"},
		{"", []Locator{
			at("127.0.0.1", 0), at("255.255.255.255", 0), at("224.0.0.1", 0), at("0.0.0.0", 0), at("0.1.2.3", 0), at("240.0.0.1", 0),
			at("169.254.1.1", 0), at("2001:db8::1", 0), at("::ffff:192.0.2.1", 0), at("198.18.0.1", 0),
		}, ""},
		{"", nil, ""},
	} {
		configured, _ := netip.ParseAddr(test.configured)
		want, _ := netip.ParseAddrPort(test.want)
		if got := (Hello{Locators: test.locators}).Where(configured, ours); got != want {
			t.Errorf("%q, %v: got %v, want %v", test.configured, test.locators, got, want)
		}
	}
}
