package method

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// search draws a search for rates of a tester.
func search(t *rapid.T) Search {
	s := Search{Least: rapid.Float64Range(1, 1e4).Draw(t, "least"), Stride: rapid.Float64Range(1.001, 4).Draw(t, "stride")}
	s.Most = s.Least * rapid.Float64Range(1, 1e4).Draw(t, "range")
	s.Start = rapid.Float64Range(0.5, 1e8).Draw(t, "start")
	s.Goal = Goal{
		Loss: rapid.Float64Range(0, 0.1).Draw(t, "loss"), Exceed: rapid.Float64Range(0, 0.9).Draw(t, "exceed"),
		Trials: rapid.IntRange(1, 9).Draw(t, "trials"), Width: rapid.Float64Range(0.001, 0.2).Draw(t, "width"),
	}
	return s
}

func TestSearchFindsTheKneeOfAMonotoneDevice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := search(t)
		knee := rapid.Float64Range(s.Least, s.Most).Draw(t, "knee")
		f, err := s.Run(func(load float64) (Observation, error) {
			if load < s.Least || load > s.Most {
				t.Fatalf("load %g outside of %g to %g", load, s.Least, s.Most)
			}
			if load > knee {
				return Observation{Loss: s.Loss + 0.5}, nil
			}
			return Observation{Loss: s.Loss}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.Lower > knee || f.Upper <= knee {
			t.Fatalf("bounds %g and %g do not enclose %g", f.Lower, f.Upper, knee)
		}
		if !math.IsInf(f.Upper, 1) && f.Upper > f.Lower*(1+s.Width) {
			t.Fatalf("bounds %g and %g are too far apart", f.Lower, f.Upper)
		}
		if want := f.Lower * (1 - s.Loss); math.Abs(f.Conditional-want) > 1e-9*want {
			t.Fatalf("conditional throughput %g, want %g", f.Conditional, want)
		}
	})
}

// Whatever trials show, a search ends, within a number of them that is known.
func TestSearchEndsWithAnyDevice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := search(t)
		kind := rapid.SampledFrom([]string{"never", "always", "random", "beyond"}).Draw(t, "kind")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f, err := s.Run(func(float64) (Observation, error) {
			return map[string]Observation{
				"never": {Loss: 1}, "always": {}, "random": {Loss: random.Float64() / 5}, "beyond": {Beyond: true},
			}[kind], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		span := math.Log(s.Most / s.Least)
		loads := 4 + span/math.Log(mostStride) + math.Log2(2+span/math.Log1p(s.Width)) + math.Log2(2+math.Log(2)/math.Log(s.Stride))
		if float64(len(f.Steps)) > loads*float64(s.Trials) {
			t.Fatalf("%d trials, expected at most %g loads of %d", len(f.Steps), loads, s.Trials)
		}
		switch {
		case f.Lower >= f.Upper:
			t.Fatalf("bounds %g and %g", f.Lower, f.Upper)
		case kind == "never" && (f.Lower != 0 || f.Upper != s.Least || f.Limited):
			t.Fatalf("never: %+v", f)
		case kind == "beyond" && (f.Lower != 0 || !f.Limited):
			t.Fatalf("beyond: %+v", f)
		case kind == "always" && (f.Lower != s.Most || !math.IsInf(f.Upper, 1)):
			t.Fatalf("always: %+v", f)
		}
	})
}

// A tolerant search bears with a machine that spoils one trial in four; a strict
// one believes it.
func TestTolerantSearchBearsNoise(t *testing.T) {
	t.Parallel()
	const knee, spoilt = 1e6, 0.25
	found := func(goal Goal) (lower []float64) {
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 1))
			f, err := Search{Goal: goal, Least: 1e3, Most: 1e8, Start: 1e5, Stride: 2}.Run(func(load float64) (Observation, error) {
				if load > knee || random.Float64() < spoilt {
					return Observation{Loss: 0.1}, nil
				}
				return Observation{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			lower = append(lower, f.Lower)
		}
		return lower
	}
	if strict := Quantile(found(Strict()), 0.5); strict > 0.7*knee {
		t.Errorf("the noise does nothing: the strict search finds %g", strict)
	}
	if tolerant := Quantile(found(Tolerant()), 0.5); tolerant < 0.95*knee || tolerant > knee {
		t.Errorf("the tolerant search finds %g of %g", tolerant, knee)
	}
}

// A good first load saves trials.
func TestSearchBeginsAtAHint(t *testing.T) {
	t.Parallel()
	const knee = 123_456
	steps := func(start, stride float64) int {
		f, err := Search{Goal: Strict(), Least: 100, Most: 1e8, Start: start, Stride: stride}.Run(func(load float64) (Observation, error) {
			return Observation{Loss: max(0, load-knee)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(f.Steps)
	}
	if cold, warm := steps(1000, 2), steps(knee, 1.02); warm > cold/2 {
		t.Errorf("%d trials from a hint, %d without", warm, cold)
	}
}

func TestSearchStopsAtAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	f, err := Search{Goal: Strict(), Least: 1, Most: 2, Start: 1, Stride: 2}.Run(func(float64) (Observation, error) { return Observation{}, broken })
	if !errors.Is(err, broken) || len(f.Steps) != 0 {
		t.Errorf("%v after %d steps", err, len(f.Steps))
	}
	if _, err := (Search{}).Run(nil); err == nil {
		t.Error("a search without a goal runs")
	}
}

// A load is judged by as many trials as it takes, and not by one more.
func TestTrialsThatDecideALoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trials int
		exceed float64
		losses string // + is a low-loss trial
		passes bool
	}{
		{1, 0, "+", true},
		{1, 0, "-", false},
		{5, 0.5, "+++", true},
		{5, 0.5, "---", false},
		{5, 0.5, "+-+-+", true},
		{5, 0.5, "-+-+-", false},
		{4, 0.5, "--++", true}, // two of four may be high-loss
		{4, 0.5, "---", false},
		{4, 0.5, "++", true},
		{3, 0, "-", false},
		{3, 0, "+++", true},
	} {
		s := Search{Goal: Goal{Trials: c.trials, Exceed: c.exceed, Width: 0.1}, Least: 1, Most: 1, Start: 1, Stride: 2}
		made := 0
		f, err := s.Run(func(float64) (Observation, error) {
			made++
			if made > len(c.losses) {
				return Observation{}, errors.New("one trial too many")
			}
			return Observation{Loss: map[byte]float64{'+': 0, '-': 1}[c.losses[made-1]]}, nil
		})
		if err != nil || made != len(c.losses) || (f.Lower > 0) != c.passes {
			t.Errorf("%d trials, %g may exceed, %s: passes %t after %d: %v", c.trials, c.exceed, c.losses, f.Lower > 0, made, err)
		}
	}
}
