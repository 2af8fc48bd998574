package reproduce

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// elsewhere is what none of the values of a drawing is.
const elsewhere = 777

// sketch is evidence for so many points of a drawing, or groups of its bars.
func sketch(d drawing, points int) Evidence {
	if d.groups != nil {
		var s oncpu.Switches
		s.Seconds = 1
		for bucket := range points {
			s.Voluntary[bucket] = 5
		}
		return switches(both(s), both(s))
	}
	r := bench.Report{Control: "null", Devices: []string{"iptables"}}
	if d.plot == overTime {
		s := bench.Series{DUT: "iptables", Plot: d.plot, X: "time, s", Y: "connections"}
		for x := range points {
			s.Points = append(s.Points, [2]float64{float64(x), float64(x)})
		}
		r.Series = []bench.Series{s}
		return Evidence{d.job: r}
	}
	lines := d.lines
	if len(lines) == 0 {
		lines = []line{{dut: "iptables", where: d.where}, {dut: "null", where: d.where}}
	}
	var groups []string
	for _, l := range lines {
		if !slices.Contains(groups, l.group) {
			groups = append(groups, l.group)
		}
		if d.bars() && len(groups) > points {
			break
		}
		if len(d.values) > 0 {
			r.Results = append(r.Results, resultOf(l.dut, d.plot, 5, narrow, at{d.over: elsewhere})...)
		}
		for i := range points {
			where := at{d.over: float64(i + 1), "besides": 3}
			if len(d.values) > 0 {
				where[d.over] = d.values[i]
			}
			for key, value := range l.where {
				where[key] = value
			}
			r.Results = append(r.Results, resultOf(l.dut, cmp.Or(l.metric, d.plot), 5+float64(i), narrow, where)...)
			r.Results = append(r.Results, resultOf(l.dut, "another", 7, narrow, where)...)
		}
	}
	return Evidence{d.job: r}
}

// Every drawing is of a finding, and of a job that this needs; what has one point is none.
func TestDrawings(t *testing.T) {
	t.Parallel()
	files := map[string]bool{}
	for _, d := range drawings {
		if files[d.file()] {
			t.Errorf("two drawings are in %s", d.file())
		}
		files[d.file()] = true
		for _, job := range append([]string{d.job}, d.beside...) {
			if !slices.ContainsFunc(finding(t, d.item).Needs, func(needed Job) bool { return needed.Name == job }) {
				t.Errorf("%s is drawn from %s, which %s does not need", d.name, job, d.item)
			}
		}
		if d.there(sketch(d, 1)) {
			t.Errorf("%s is drawn from one point", d.name)
		}
		e := sketch(d, 2)
		var svg bytes.Buffer
		if err := d.draw(&svg, e); !d.there(e) || err != nil {
			t.Errorf("%s: %v", d.name, err)
			continue
		}
		if text := pictures(e, d.item); !strings.Contains(text, d.file()) {
			t.Errorf("the row of %s has %q", d.item, text)
		}
	}
}

// A drawing has every line and bar that there is evidence for, and nothing else.
func TestDrawingsHaveAllTheirLines(t *testing.T) {
	t.Parallel()
	for _, d := range drawings {
		const every = 7
		e := sketch(d, max(2, min(every, len(d.values))))
		if d.bars() {
			e = sketch(d, every)
		}
		var svg bytes.Buffer
		if err := d.draw(&svg, e); err != nil {
			t.Errorf("%s: %v", d.name, err)
			continue
		}
		want := []string{d.title}
		if len(d.lines) == 0 && d.groups == nil {
			want = append(want, ">iptables<")
		}
		for _, l := range d.lines {
			want = append(want, ">"+l.name+"<")
			if d.bars() { // what a reader meets who rests a pointer there
				want = append(want, fmt.Sprintf("%s, %s: rate", l.group, l.name))
			}
		}
		for _, text := range want {
			if !strings.Contains(svg.String(), text) {
				t.Errorf("%s lacks %q", d.name, text)
			}
		}
		if has := strings.Contains(svg.String(), ">null<"); has != (len(d.lines) == 0 && d.groups == nil && !d.alone && d.plot != overTime) {
			t.Errorf("%s has the control: %t", d.name, has)
		}
		for _, text := range []string{"another", "besides", fmt.Sprintf(" %d, ", elsewhere)} {
			if strings.Contains(svg.String(), text) {
				t.Errorf("%s has what it is not of: %q", d.name, text)
			}
		}
	}
}

// A point without a valid trial is none.
func TestDrawingOfInvalidPoints(t *testing.T) {
	t.Parallel()
	d := drawings[slices.IndexFunc(drawings, func(d drawing) bool { return d.name == "figure-13" })]
	e := sketch(d, 2)
	for i, result := range e[d.job].Results {
		if result.Parameters[d.over] == 2 {
			e[d.job].Results[i] = resultOf(result.DUT, result.Metric, math.NaN(), narrow, result.Parameters)[0]
		}
	}
	if d.there(e) {
		t.Error("it is drawn from one valid point")
	}
}

// Each figure of measurements is drawn, or else the page says why not.
func TestEveryFigureIsDrawnOrExplained(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		paper       Paper
		first, last int
		explained   []int
	}{{kadlecsik(), 3, 16, []int{3, 4, 16}}, {sharma(), 25, 35, []int{34}}} {
		drawn := map[int]bool{}
		for _, d := range drawings {
			var number int
			if _, err := fmt.Sscanf(d.title, "Figure %d", &number); err == nil && slices.ContainsFunc(of.paper.Findings, func(f Finding) bool { return f.Item == d.item }) {
				drawn[number] = true
			}
		}
		for number := of.first; number <= of.last; number++ {
			if explained := slices.Contains(of.explained, number); drawn[number] == explained {
				t.Errorf("figure %d of %s is drawn: %t, and explained: %t", number, of.paper.Name, drawn[number], explained)
			}
		}
		for _, number := range of.explained {
			if !regexp.MustCompile(fmt.Sprintf(`\b%d\b`, number)).MatchString(of.paper.Figures) {
				t.Errorf("%q does not explain figure %d of %s", of.paper.Figures, number, of.paper.Name)
			}
		}
	}
	var page bytes.Buffer
	if err := Page(&page, Papers(), Evidence{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range Papers() {
		if p.Figures == "" || !strings.Contains(page.String(), "\n"+p.Figures+"\n") {
			t.Errorf("the page does not say which figures of %s are not drawn", p.Name)
		}
	}
}
