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
	if err := h.Allows(rest+2, attacker, 8, share); err != nil || len(h.bindings)+len(h.parties)+len(h.until.index) != 0 {
		t.Errorf("%v, %d parties, %d bindings and %d holdings are left", err, len(h.bindings), len(h.parties), len(h.until.index))
	}
}

// Answers on their way at once may become more than the share before that is known: those it was given last stay.
func TestHoldingsBeyondTheShare(t *testing.T) {
	h := NewHoldings()
	const share = 1
	h.Hold(attacker, 1, rest)
	h.Hold(attacker, 2, rest+2)
	if err := h.Allows(1, attacker, 1, share); !errors.Is(err, ErrShare) {
		t.Errorf("the older of two: %v", err)
	}
	if err := h.Allows(1, attacker, 2, share); err != nil {
		t.Errorf("the later one: %v", err)
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

// Who is not alone with a binding keeps it from nobody.
func TestHoldingsEndWhenOthersCome(t *testing.T) {
	h := NewHoldings()
	h.Hold(attacker, 1, rest)
	h.ReleaseOthers(neighbour, 1)
	if err := h.Allows(1, attacker, 2, 1); !errors.Is(err, ErrShare) {
		t.Errorf("somebody of its own /24 came: %v", err)
	}
	h.ReleaseOthers(honest, 1)
	if err := h.Allows(1, attacker, 2, 1); err != nil {
		t.Errorf("somebody else came: %v", err)
	}
}

func TestUsers(t *testing.T) {
	u := NewUsers()
	if at := u.Others(honest, 1); at != 0 {
		t.Errorf("nobody came, at %d", at)
	}
	u.Note(10, attacker, 1)
	u.Note(20, neighbour, 1)
	if own, others := u.Others(attacker, 1), u.Others(honest, 1); own != 0 || others != 20 {
		t.Errorf("others came at %d and %d, not at 0 and 20", own, others)
	}
	u.Note(30, honest, 1)
	if own, others := u.Others(attacker, 1), u.Others(honest, 1); own != 30 || others != 20 {
		t.Errorf("others came at %d and %d, not at 30 and 20", own, others)
	}
}

// However many ask, what is remembered is bounded, and the lists agree with it.
func TestHoldingsAreBoundedInAll(t *testing.T) {
	h := NewHoldings()
	for n := range uint32(TableSize) {
		h.Hold(netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)}), uint64(n), rest+model.Instant(n))
	}
	bindings, parties := 0, 0
	for _, list := range h.bindings {
		bindings += len(list)
	}
	for _, list := range h.parties {
		parties += len(list)
	}
	if len(h.until.index) != TableSize || bindings != TableSize || parties != TableSize {
		t.Errorf("%d holdings, %d by party, %d by binding", len(h.until.index), bindings, parties)
	}
}
