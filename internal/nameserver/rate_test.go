package nameserver

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

func TestRate(t *testing.T) {
	r := newRate(1000)
	now := model.Instant(time.Hour)
	took := func(address string) (n int) {
		for r.take(now, netip.MustParseAddr(address), 100) {
			n++
		}
		return n
	}
	if n := took("192.0.2.1"); n != 20 { // two seconds' worth at once
		t.Errorf("%d answers at once", n)
	}
	if n := took("192.0.2.200"); n != 0 {
		t.Errorf("%d more for the same /24", n)
	}
	if n := took("198.51.100.1"); n != 20 {
		t.Errorf("%d for another", n)
	}
	if n := took("2001:db8::1"); n != 20 {
		t.Errorf("%d for IPv6", n)
	}
	if n := took("2001:db8:0:ff::1"); n != 0 {
		t.Errorf("%d more for the same /56", n)
	}
	if !r.take(now, netip.MustParseAddr("192.0.2.1"), 0) {
		t.Error("an answer no longer than its question was refused")
	}
	now = now.Add(time.Second)
	if n := took("192.0.2.1"); n != 10 {
		t.Errorf("%d after a second", n)
	}
	now = now.Add(time.Hour)
	if n := took("192.0.2.1"); n != 20 {
		t.Errorf("%d after an hour", n)
	}
}
