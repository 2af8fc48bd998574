package policy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// terms are any, made of numbers from 0 to n-1 that draw gives.
func terms(draw func(n int) int) Terms {
	t := Terms{
		Vouched: Vouched(draw(4)), Name: Name(draw(3)), Confidential: Confidential(draw(3)), Evidence: draw(2) == 0,
		Hold: time.Duration(draw(4)) * time.Minute, Limit: Limit{uint32(draw(4)) * 50, uint32(draw(4)) * 500},
	}
	if draw(4) == 0 {
		t.Services.All = true
		return t
	}
	var ports []model.Port
	for range draw(5) {
		ports = append(ports, somePorts[draw(len(somePorts))])
	}
	t.Services = ServicesOf(ports)
	return t
}

var somePorts = []model.Port{
	{Protocol: model.ICMP}, {Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.TCP, Port: 443, To: 443},
	{Protocol: model.UDP, Port: 443, To: 443}, {Protocol: model.UDP, Port: 53, To: 53}, {Protocol: model.TCP, Port: 22, To: 2222},
}

// checkNarrow holds what is promised of the combination of any two sides, and of a third.
func checkNarrow(a, b, c Terms) error {
	ab, err := Narrow(a, b)
	ba, other := Narrow(b, a)
	if !same(ab, ba) || !errors.Is(err, other) {
		return fmt.Errorf("not commutative: %+v, %w and %+v, %w", ab, err, ba, other)
	}
	if aa, err := Narrow(a, a); err == nil && !same(aa, a) || err != nil && !a.Services.None() {
		return fmt.Errorf("not idempotent: %+v, %w", aa, err)
	}
	if wide, err := Narrow(a, Widest); err == nil && !same(wide, a) {
		return fmt.Errorf("the widest change it: %+v", wide)
	}
	if err != nil {
		if conflict := (ErrConflict{}); !errors.As(err, &conflict) || !apart(a, b, conflict.Term) {
			return fmt.Errorf("a conflict where there is none: %w", err)
		}
		return nil
	}
	if apart(a, b, "confidential") || apart(a, b, "services") {
		return fmt.Errorf("%+v of two that are apart", ab)
	}
	if !ab.Within(a) || !ab.Within(b) {
		return fmt.Errorf("wider than a side: %+v", ab)
	}
	if again, err := Narrow(ab, b); err != nil || !same(again, ab) {
		return fmt.Errorf("a second round changes it: %+v, %w, was %+v", again, err, ab)
	}
	abc, err := Narrow(ab, c)
	if bc, other := Narrow(b, c); other == nil {
		if right, other := Narrow(a, bc); (err == nil) != (other == nil) || !same(abc, right) {
			return fmt.Errorf("not associative: %+v, %w and %+v, %w", abc, err, right, other)
		}
	} else if err == nil {
		return fmt.Errorf("three agree, and two of them do not: %w", other)
	}
	if c.Within(a) && c.Within(b) && !c.Services.None() && !c.Within(ab) {
		return fmt.Errorf("narrower than need be: %+v is within both and not within %+v", c, ab)
	}
	return nil
}

func same(a, b Terms) bool {
	return slices.Equal(a.Services.List, b.Services.List) && a.Services.All == b.Services.All && a.Vouched == b.Vouched && a.Name == b.Name &&
		a.Confidential == b.Confidential && a.Hold == b.Hold && a.Limit == b.Limit && a.Evidence == b.Evidence
}

// apart is another way to find what two have nothing in common in.
func apart(a, b Terms, term string) bool {
	if term == "confidential" {
		return a.Confidential == Yes && b.Confidential == No || a.Confidential == No && b.Confidential == Yes
	}
	in := func(s Services, p model.Port) bool {
		return s.All || slices.ContainsFunc(s.List, func(o model.Port) bool { return o.Key() == p.Key() })
	}
	if a.Services.All && b.Services.All {
		return false
	}
	return !slices.ContainsFunc(somePorts, func(p model.Port) bool { return in(a.Services, p) && in(b.Services, p) })
}

// TestNarrow holds the promises over a million pairs, and where they break, over as small a pair as there is.
func TestNarrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
		a, b, c := terms(draw), terms(draw), terms(draw)
		if err := checkNarrow(a, b, c); err != nil {
			t.Fatalf("%+v\n%+v\n%+v: %v", a, b, c, err)
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	agreed := 0
	for range 1_000_000 {
		a, b, c := terms(random.IntN), terms(random.IntN), terms(random.IntN)
		if err := checkNarrow(a, b, c); err != nil {
			t.Fatalf("%+v\n%+v\n%+v: %v", a, b, c, err)
		}
		if _, err := Narrow(a, b); err == nil {
			agreed++
		}
	}
	if agreed < 300_000 || agreed > 700_000 {
		t.Errorf("%d of a million pairs agreed: both outcomes are to be tried often", agreed)
	}
}
