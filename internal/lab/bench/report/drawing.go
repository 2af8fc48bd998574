package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// Sizes of a plot, in the drawing's own units: the page scales it to its width.
const (
	plotWidth   = 720.0
	letter      = 7.2 // the width of a letter, rounded up
	lineHeight  = 18.0
	marginTop   = 34.0
	marginRight = 36.0
)

// drawing is one plot: shapes in the order in which they are painted. What it
// means is also in its title and description, for who cannot see it.
type drawing struct {
	Title, Description string
	Width, Height      float64
	Shapes             []shape
}

// shape is a path, or a text where Text is not empty.
type shape struct {
	D     string // path data
	X, Y  float64
	Class string // what plot.css knows
	Text  string
	Tip   string // shown where a pointer rests on it
	Turn  bool   // a text that reads upwards
}

//go:embed *.css *.tmpl
var files embed.FS

// svgTemplate writes a drawing; "alone" is a file of its own, with its style.
var svgTemplate = template.Must(template.New("plot").Funcs(template.FuncMap{
	"place": func(v float64) string { return fmt.Sprintf("%.1f", v) },
}).ParseFS(files, "plot.css", "plot.svg.tmpl"))

// inline is the drawing as a part of a page that has plot.css.
func (d drawing) inline() (template.HTML, error) {
	var text strings.Builder
	err := svgTemplate.ExecuteTemplate(&text, "inline", d)
	return template.HTML(text.String()), err //nolint:gosec // the template escapes what it writes
}

// file writes the drawing as a file of its own.
func (d drawing) file(w io.Writer) error { return svgTemplate.ExecuteTemplate(w, "alone", d) }

// retitle changes the title, also where it is drawn.
func (d *drawing) retitle(title string) {
	d.Title = title
	for i, s := range d.Shapes {
		if s.Class == "title" {
			d.Shapes[i].Text = title
		}
	}
}

func (d *drawing) path(class, format string, args ...any) {
	d.Shapes = append(d.Shapes, shape{Class: class, D: fmt.Sprintf(format, args...)})
}

func (d *drawing) text(class string, x, y float64, text string) {
	d.Shapes = append(d.Shapes, shape{Class: class, X: x, Y: y, Text: text})
}

// tip explains the shape that was drawn last.
func (d *drawing) tip(format string, args ...any) {
	d.Shapes[len(d.Shapes)-1].Tip = fmt.Sprintf(format, args...)
}

func (d *drawing) box(class string, x, y, width, height float64) {
	d.path(class, "M%.1f %.1fh%.1fv%.1fh%.1fz", x, y, width, height, -width)
}

// styles is how many devices look different; the control has one of its own.
const styles = 8

func styleOf(device int, control bool) string {
	if control || device < 0 {
		return "control"
	}
	return fmt.Sprintf("s%d", device%styles)
}

// mark draws a device's mark: besides its colour each has a form of its own.
func (d *drawing) mark(style string, x, y, r float64) {
	switch style {
	case "s1", "s6": // a square
		d.box(style+" mark", x-r*0.9, y-r*0.9, 1.8*r, 1.8*r)
	case "s2", "s7": // a triangle
		d.path(style+" mark", "M%.1f %.1fl%.1f %.1fh%.1fz", x, y-1.2*r, 1.1*r, 2*r, -2.2*r)
	case "s3", "s5": // a diamond
		d.path(style+" mark", "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y-1.3*r, 1.3*r, 1.3*r, -1.3*r, 1.3*r, -1.3*r, -1.3*r)
	default: // a dot
		d.path(style+" mark", "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x-r, y, r, r, 2*r, r, r, -2*r)
	}
}

// wide is about how wide a text is.
func wide(text string) float64 { return letter * float64(len([]rune(text))) }

// upright draws an axis at the left of the frame, with lines across it.
func (d *drawing) upright(a axis, left, right float64) {
	for _, t := range a.ticks() {
		y := a.at(t.at)
		d.path("grid", "M%.1f %.1fH%.1f", left, y, right)
		d.text("end", left-8, y+4, t.text)
	}
	d.Shapes = append(d.Shapes, shape{Class: "label", X: 14, Y: (a.from + a.to) / 2, Text: a.title(), Turn: true})
}

// level draws an axis below the frame. Labels that would touch the one before
// them are left out.
func (d *drawing) level(a axis, top, bottom float64) {
	free := math.Inf(-1)
	for _, t := range a.ticks() {
		x, half := a.at(t.at), wide(t.text)/2
		d.path("grid", "M%.1f %.1fV%.1f", x, top, bottom)
		if x-half > free {
			d.text("middle", x, bottom+18, t.text)
			free = x + half + letter
		}
	}
	d.path("axis", "M%.1f %.1fH%.1f", a.from, bottom, a.to)
	d.text("middle label", (a.from+a.to)/2, bottom+38, a.title())
}

// widest is how much room the labels of an axis need.
func widest(a axis) (room float64) {
	for _, t := range a.ticks() {
		room = max(room, wide(t.text))
	}
	return room
}
