package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// element is what a document says at one place.
type element struct {
	name  string
	attrs map[string]string
	text  string // right below it
}

// elements reads a document, which must be well-formed.
func elements(t *testing.T, document string) (list []*element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return list
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			list, open = append(list, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

func pageOf(t *testing.T, r bench.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := HTML(&text, r); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// external lists what a browser would fetch.
func external(t *testing.T, document string) (found []string) {
	t.Helper()
	for _, e := range elements(t, document) {
		if slices.Contains(strings.Fields("script link img iframe object embed image use base form"), e.name) {
			found = append(found, e.name)
		}
		for name, value := range e.attrs {
			if name != "xmlns" && (strings.Contains(value, "//") || name == "src" || name == "href" && !strings.HasPrefix(value, "#")) {
				found = append(found, name+"="+value)
			}
		}
		if e.name == "style" {
			for _, word := range []string{"url(", "@import", "//"} {
				if strings.Contains(e.text, word) {
					found = append(found, word)
				}
			}
		}
	}
	return found
}

func TestPageStandsAlone(t *testing.T) {
	page := pageOf(t, sample())
	if found := external(t, page); len(found) > 0 {
		t.Errorf("the page refers to %q", found)
	}
	for _, bad := range []string{
		`<a href="https://example.net/">x</a>`, `<img alt=""/>`, `<style>@import "x"</style>`, `<p style="background: url(//example.net/)"/>`, `<script>1</script>`,
	} {
		if found := external(t, bad); len(found) == 0 {
			t.Errorf("found nothing wrong with %s", bad)
		}
	}
}

// What a stranger must know is on the page, and nothing that was measured can
// break it.
func TestPageTells(t *testing.T) {
	r := sample()
	r.Incomplete = "interrupted"
	page := pageOf(t, r)
	for _, want := range []string{
		`realmgate bench run sample --note &#34;&lt;a&gt; &amp; b&#34;`, "Some CPU &lt;X&gt;", "Linux 6.18.0", "a virtual machine",
		"<strong>not RFC compliant: tester and device share one machine", "This run is incomplete: interrupted.", "<strong>self-clocked</strong>",
		"null (control)", "0.19–0.27", "0.21 †", "counted: no &lt;answer&gt;", "steal: 31 % of the CPU", "65,536", "<del>90000</del>", "/proc/sys/a",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	r.Results, r.Ratios, r.Series = nil, nil, nil
	if page := pageOf(t, r); !strings.Contains(page, "This scenario sends no traffic.") || strings.Contains(page, "self-clocked</strong>") {
		t.Error("a page without trials tells of a tester")
	}
}

// Every trial and every curve is in a plot.
func TestPlotsHaveTheirData(t *testing.T) {
	r := sample()
	plots := map[string]string{}
	for _, f := range figures(r) {
		var text bytes.Buffer
		if err := SVG(&text, r, f.name); err != nil {
			t.Fatal(err)
		}
		plots[f.name] = text.String()
	}
	count := func(name, class string) (n int) {
		for _, e := range elements(t, plots[name]) {
			if e.name == "path" && strings.HasSuffix(e.attrs["class"], class) && e.attrs["d"] != "" {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		plot, class string
		want        int
	}{
		{"rate", "mark", 14}, {"rate", "invalid", 1}, {"rate", "range", 3}, {"rate", "median", 3},
		{"cost", "mark", 10}, {"capacity", "mark", 1},
		{"rate_rules", "line", 2 + 2}, {"rate_rules", "whisker", 10}, {"rate_rules", "mark", 10 + 2}, // and the legend's
		{"search trace", "line", 3 + 3}, {"search trace", "mark", 3*14 + 3}, {"latency", "line", 3 + 3}, {"loss over the rate", "line", 3 + 3},
	} {
		if got := count(c.plot, c.class); got != c.want {
			t.Errorf("%s: %d times %s, want %d", c.plot, got, c.class, c.want)
		}
	}
	if title := "sample, rate: every trial"; strings.Count(plots["rate"], title) != 3 { // drawn, for a pointer, for a reader aloud
		t.Errorf("the plot is not called %q: %s", title, plots["rate"])
	}
	page := pageOf(t, r)
	for name := range plots {
		if !strings.Contains(page, `<title>`+name) {
			t.Errorf("the page lacks the plot %s", name)
		}
	}
	if err := SVG(&bytes.Buffer{}, r, "none"); err == nil || !strings.Contains(err.Error(), "it has: rate, cost") {
		t.Error(err)
	}
}

// Nothing is clipped, and no label is on another.
func TestPlotsAreReadable(t *testing.T) {
	r := sample()
	for i := range 12 { // a legend of several lines, and long names
		s := r.Series[0]
		s.DUT = fmt.Sprintf("a-device-with-a-long-name-%d", i)
		r.Series = append(r.Series, s)
	}
	r.Results[0].DUT = strings.Repeat("long-", 6)
	for _, f := range figures(r) {
		for i, s := range f.Shapes {
			if s.Text == "" {
				if strings.Contains(s.D, "NaN") || strings.Contains(s.D, "Inf") {
					t.Errorf("%s: %s", f.name, s.D)
				}
				continue
			}
			left, right := extent(s)
			if left < 0 || right > f.Width || s.Y < 10 || s.Y > f.Height-4 {
				t.Errorf("%s: %q is outside: %.0f to %.0f at %.0f of %.0f × %.0f", f.name, s.Text, left, right, s.Y, f.Width, f.Height)
			}
			for _, other := range f.Shapes[:i] {
				if other.Text == "" || other.Turn != s.Turn {
					continue
				}
				if l, r := extent(other); other.Y > s.Y-12 && other.Y < s.Y+12 && l < right && left < r {
					t.Errorf("%s: %q is on %q", f.name, s.Text, other.Text)
				}
			}
		}
	}
}

// extent is from where to where a text goes.
func extent(s shape) (left, right float64) {
	width := wide(s.Text)
	switch {
	case s.Turn:
		return s.X - 12, s.X
	case strings.Contains(s.Class, "middle"):
		return s.X - width/2, s.X + width/2
	case s.Class == "end":
		return s.X - width, s.X
	}
	return s.X, s.X + width
}
