package policy

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const rest = model.Instant(730 * time.Second)

var (
	attacker  = netip.MustParseAddr("192.0.2.1")
	neighbour = netip.MustParseAddr("192.0.2.2") // of the attacker's /24
	honest    = netip.MustParseAddr("198.51.100.7")
)

func TestShareGrowsWithReputation(t *testing.T) {
	for _, c := range []struct {
		addresses  int
		reputation float64
		want       int
	}{
		{4, FirstReputation, 1}, {16, FirstReputation, 4}, {256, FirstReputation, 64},
		{16, 1, 8}, {16, 0, 1}, {1, 1, 1}, {256, 0.1, 12},
	} {
		if got := Share(c.addresses, c.reputation); got != c.want {
			t.Errorf("%d addresses, reputation %.1f: %d, want %d", c.addresses, c.reputation, got, c.want)
		}
	}
}

func TestHoldingsAreBoundedForEachAskerAndSubnet(t *testing.T) {
	h := NewHoldings()
	const share = 2
	for binding := range uint64(share) {
		if err := h.Allows(0, attacker, binding, share); err != nil {
			t.Fatal(err)
		}
		h.Hold(attacker, binding, rest)
		h.Hold(attacker, binding, rest+1) // asked once more: still one
	}
	if err := h.Allows(1, attacker, 7, share); !errors.Is(err, ErrShare) {
		t.Errorf("a third binding: %v", err)
	}
	if err := h.Allows(1, neighbour, 7, share); !errors.Is(err, ErrShare) {
		t.Errorf("a third binding for the /24: %v", err)
	}
	if err := h.Allows(1, attacker, 1, share); err != nil {
		t.Errorf("one that it holds: %v", err)
	}
	if err := h.Allows(1, honest, 7, share); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	h.Release(attacker, 0)
	if err := h.Allows(1, neighbour, 7, share); err != nil {
		t.Errorf("after one was used: %v", err)
	}
	h.Hold(neighbour, 7, rest+2)
	if err := h.Allows(rest, attacker, 8, share); !errors.Is(err, ErrShare) {
		t.Errorf("before the first has rested: %v", err)
	}
	if err := h.Allows(rest+1, attacker, 8, share); err != nil {
		t.Errorf("after the first has rested: %v", err)
	}
	if err := h.Allows(rest+2, attacker, 8, share); err != nil || len(h.count) != 0 || len(h.until.index) != 0 {
		t.Errorf("%v, %d parties and %d holdings are left", err, len(h.count), len(h.until.index))
	}
}

// However many ask, what is remembered is bounded, and the counts agree with it.
// Answers on their way at once may become more than the share before that is known.
func TestHoldingsBeyondTheShare(t *testing.T) {
	h := NewHoldings()
	const share = 1
	h.Hold(attacker, 1, rest)
	h.Hold(attacker, 2, rest+2)
	if err := h.Allows(1, attacker, 2, share); !errors.Is(err, ErrShare) {
		t.Errorf("one of two that it holds: %v", err)
	}
	if err := h.Allows(rest, attacker, 2, share); err != nil {
		t.Errorf("the one that is left: %v", err)
	}
	h.Renew(attacker, 2, 2*rest)
	h.Renew(attacker, 3, 2*rest) // it does not hold that
	if err := h.Allows(rest+3, attacker, 3, share); !errors.Is(err, ErrShare) {
		t.Errorf("another beside one that it was given again: %v", err)
	}
	if err := h.Allows(2*rest, attacker, 3, share); err != nil {
		t.Errorf("when that is over: %v", err)
	}
}

func TestHoldingsAreBoundedInAll(t *testing.T) {
	h := NewHoldings()
	for n := range uint32(TableSize) {
		h.Hold(netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)}), uint64(n), rest+model.Instant(n))
	}
	sum := 0
	for _, n := range h.count {
		sum += n
	}
	if len(h.until.index) != TableSize || sum != TableSize {
		t.Errorf("%d holdings, %d counted", len(h.until.index), sum)
	}
}
