package policy

import (
	"errors"
	"net/netip"
	"testing"
)

func TestRefusalSaysWhomAndWhy(t *testing.T) {
	t.Parallel()
	party := netip.MustParsePrefix("192.0.2.7/32")
	err := refuse(ErrShare, "admit %s: %d of %d addresses", party, 4, 4)
	if want := "admit 192.0.2.7/32: 4 of 4 addresses: share of the pool reached"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if !errors.Is(err, ErrShare) || errors.Is(err, ErrReserve) {
		t.Errorf("%v is not one of ErrShare alone", err)
	}
}
