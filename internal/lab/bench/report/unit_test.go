package report

import (
	"math"
	"testing"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"1/s", 0, "0.00 /s"}, {"1/s", 999, "999 /s"}, {"1/s", 581_544, "582 k/s"}, {"1/s", 999_900, "1.00 M/s"}, {"1/s", 4.1e6, "4.10 M/s"},
		{"ns", 3, "3.00 ns"}, {"ns", 1273, "1.27 µs"}, {"ns", 9.5e6, "9.50 ms"}, {"ms", 1500, "1.50 s"}, {"ms", 0.02, "20.0 µs"}, {"s", 120, "120 s"},
		{"ns", -40, "−40.0 ns"}, {"bytes", 385.4, "385 B"}, {"bytes", 4e9, "4.00 GB"}, {"bytes per session", 78.25, "78.2 bytes per session"},
		{"sessions/s", 25_000, "25.0 k sessions/s"}, {"%", 0.35, "0.350 %"}, {"", 1048576, "1,048,576"},
		{"1/s", math.NaN(), "–"}, {"1/s", math.Inf(1), "–"},
	} {
		if got := scaleFor(c.unit, c.value).text(c.value); got != c.want {
			t.Errorf("%g %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

// Values near each other share a prefix; values far apart each have their own.
func TestScales(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   []string
	}{
		{[]float64{581_544, 2_748_700}, []string{"582 k/s", "2,749 k/s"}},
		{[]float64{565.5, 1_120_000}, []string{"566 /s", "1.12 M/s"}},
		{[]float64{0, math.NaN(), 20}, []string{"0 /s", "–", "20 /s"}},
		{[]float64{math.NaN()}, []string{"–"}},
	} {
		for i, s := range scalesFor("1/s", c.values) {
			if got := s.text(c.values[i]); got != c.want[i] {
				t.Errorf("%v: %q, want %q", c.values, got, c.want[i])
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		label  string
		values []float64
		log    bool
		want   []string
	}{
		{"rate, 1/s", []float64{100_000, 1_400_000}, false, []string{"0", "0.5 M/s", "1.0 M/s", "1.5 M/s"}},
		{"lost, %", []float64{0, 35}, false, []string{"0", "10 %", "20 %", "30 %", "40 %"}},
		{"cost, ns", []float64{-30, 55}, false, []string{"−40 ns", "−20 ns", "0", "20 ns", "40 ns", "60 ns"}},
		{"step", []float64{1, 14}, false, []string{"0", "5", "10", "15"}},
		{"rules", []float64{1, 65536}, true, []string{"1", "10", "100", "1 k", "10 k", "100 k"}},
		{"delay (ns)", []float64{2000, 180_000}, true, []string{"2 µs", "5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs"}},
		{"share", []float64{0.2, 0.9}, false, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{"packets per second, both ways", []float64{400_000}, false, []string{"0", "100 k", "200 k", "300 k", "400 k"}},
		{"same", []float64{7, 7}, true, []string{"5", "10"}},
		{"nothing", []float64{math.NaN(), 0}, true, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{"zero, 1/s", []float64{0}, false, []string{"0", "0.2 /s", "0.4 /s", "0.6 /s", "0.8 /s", "1.0 /s"}},
	} {
		var got []string
		for _, tick := range newAxis(c.label, c.values, c.log).ticks() {
			got = append(got, tick.text)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.label, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.label, got, c.want)
				break
			}
		}
	}
}
