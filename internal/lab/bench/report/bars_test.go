package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// A bar is as high as its median, stands in its group, and beside those of other devices.
func TestBars(t *testing.T) {
	result := func(dut string, value float64) bench.Result {
		return bench.Result{DUT: dut, Unit: bench.PerSecond, Summary: method.Summarise([]float64{value})}
	}
	groups := []Group{
		{"DNAT", []bench.Result{result("one", 100), result("two", 50)}},
		{"a group of many words that do not fit into one row of it", []bench.Result{result("one", 25)}},
		{"SNAT", []bench.Result{result("one", 75)}},
	}
	d := grouped("Figure 27", "rate", groups).draw()
	var bars []struct{ x, y, width, height float64 }
	for _, s := range d.Shapes {
		if strings.HasSuffix(s.Class, " bar") {
			bars = append(bars, struct{ x, y, width, height float64 }{})
			b := &bars[len(bars)-1]
			if _, err := fmt.Sscanf(s.D, "M%f %fh%fv%f", &b.x, &b.y, &b.width, &b.height); err != nil {
				t.Fatalf("%s: %v", s.D, err)
			}
		}
	}
	if len(bars) != 4 {
		t.Fatalf("%d bars", len(bars))
	}
	for i, want := range []float64{1, 0.5, 0.25, 0.75} {
		if share := bars[i].height / bars[0].height; share < want-0.01 || share > want+0.01 {
			t.Errorf("bar %d is %.2f of the first, want %.2f", i, share, want)
		}
		if i > 0 && bars[i].x < bars[i-1].x+bars[i-1].width {
			t.Errorf("bar %d stands in the one before it", i)
		}
	}
	deepest := 0.0
	for _, s := range d.Shapes {
		if s.Text != "" && s.Class == "middle" {
			deepest = max(deepest, s.Y)
			if room := (plotWidth - marginRight) / 3; wide(s.Text) > room {
				t.Errorf("%q is wider than its group", s.Text)
			}
		}
	}
	if deepest > d.Height-4 || !strings.Contains(d.Description, "two: 50 with DNAT") {
		t.Errorf("texts end at %.0f of %.0f; %s", deepest, d.Height, d.Description)
	}
	var svg bytes.Buffer
	err := Bars(&svg, "Figure 27", "rate", groups)
	if err != nil || len(external(t, svg.String())) > 0 || !strings.Contains(svg.String(), "Figure 27, rate") {
		t.Errorf("%v: %s", err, svg.String())
	}
}

// A range that does not fit is broken after its dash, and no text is changed by it.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int // letters
		want  []string
	}{
		{"4–7", 4, []string{"4–7"}}, {"2048–4095", 9, []string{"2048–", "4095"}}, {"2048–4095", 10, []string{"2048–4095"}},
		{"load 16, pinned", 9, []string{"load 16,", "pinned"}}, {"after 2048–", 8, []string{"after", "2048–"}}, {"", 5, nil},
	} {
		if got := broken(c.text, letter*float64(c.width)); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d letters: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
