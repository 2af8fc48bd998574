package model

import (
	"net/netip"
	"testing"
)

// An IPv6 offender is its link, an IPv4 one itself, also in the mapped form.
func TestOffenderOf(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7": "203.0.113.7/32", "::ffff:203.0.113.7": "203.0.113.7/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := OffenderOf(netip.MustParseAddr(text)).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
