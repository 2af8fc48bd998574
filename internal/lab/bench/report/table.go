package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// Widths of a terminal: what is used where nobody says, and the least that the
// notes are wrapped to.
const (
	usualWidth = 100
	leastWidth = 40
)

// Table writes the results as a person reads them, a block for each metric: the
// median, the 1st and 99th percentile, and the ratio to the first device. Before
// long blocks their medians stand alone, as a curve would show them. Below are the invalid trials and the notes, wrapped to width columns (0: to 100).
func Table(w io.Writer, r bench.Report, width int) error {
	if width <= 0 {
		width = usualWidth
	}
	width = max(width, leastWidth)
	var text strings.Builder
	for _, line := range wrap(r.Scenario+": "+r.About, "", width) {
		text.WriteString(line + "\n")
	}
	list := blocks(r)
	for _, b := range list {
		if b.long() {
			text.WriteString("\n" + strings.Join(wrap(b.metric+", medians: the spread is below", "  ", width), "\n") + "\n" + b.overview(r))
		}
	}
	for _, b := range list {
		text.WriteString("\n" + strings.Join(wrap(heading(b), "  ", width), "\n") + "\n" + b.table())
	}
	if remarks := remarks(r); len(remarks) > 0 {
		text.WriteString("\n")
		for _, remark := range remarks {
			for _, line := range wrap(remark, "  ", width) {
				text.WriteString(line + "\n")
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// heading says what the block's figures are, and its columns.
func heading(b *block) string {
	text := b.metric
	if about := meaning(b.metric); about != "" {
		text += ", " + about
	}
	for _, row := range b.rows {
		if row.ratio != nil {
			text += " (ratio to " + row.ratio.Baseline + ")"
			break
		}
	}
	for _, key := range b.keys {
		if words, known := axes[key]; known && words != key {
			text += "; " + key + ": " + words
		}
	}
	return text
}

// table writes the rows, aligned, without the columns that nothing is in.
func (b *block) table() string {
	first := len(b.heads())
	rows := [][]string{append(b.heads(), "DEVICE", "MEDIAN", "P1", "P99", "", "RATIO", "FROM–TO", "VALID", "")}
	left := map[int]bool{0: b.of != "" || first == 0, first: true, first + 4: true, first + 8: true} // device, unit, remark
	before := ""
	for i, r := range b.rows {
		cells := b.cells(r)
		if here := r.group(); i > 0 && here == before {
			cells = make([]string, first)
		}
		before = r.group()
		if len(r.Trials) == 0 && finite(float64(r.Median)) { // computed: there is no spread
			rows[0][first+1] = "VALUE"
			rows = append(rows, append(cells, r.DUT, r.scale.number(float64(r.Median)), "", "", r.scale.unit, "", "", "", ""))
			continue
		}
		ratio, span := r.ratioText()
		rows = append(rows, append(cells, r.DUT, r.sign()+r.scale.number(float64(r.Median)), r.scale.number(float64(r.P1)),
			r.scale.number(float64(r.P99)), r.scale.unit, ratio, span, fmt.Sprintf("%d/%d", r.valid(), len(r.Trials)), r.remark()))
	}
	return align(withoutEmpty(rows, left))
}

// remark stands behind a row.
func (r row) remark() string {
	switch {
	case r.control:
		return "control"
	case r.bound:
		return "at least: the tester was the limit"
	}
	return ""
}

// withoutEmpty takes columns away that have a heading and nothing below it.
func withoutEmpty(rows [][]string, left map[int]bool) (kept [][]string, begins map[int]bool) {
	kept, begins = make([][]string, len(rows)), map[int]bool{}
	for column := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "" }) {
			continue
		}
		begins[len(kept[0])] = left[column]
		for i := range rows {
			kept[i] = append(kept[i], rows[i][column])
		}
	}
	return kept, begins
}

func upper(words []string) (list []string) {
	for _, word := range words {
		list = append(list, strings.ToUpper(word))
	}
	return list
}

// align makes columns as wide as their widest cell. Numbers end at the right, and
// the columns in left begin at the left.
func align(rows [][]string, left map[int]bool) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			gap := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if left[i] {
				line += "  " + cell + gap
			} else {
				line += "  " + gap + cell
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// wrap breaks a text at spaces; lines after the first are indented.
func wrap(text, indent string, width int) (lines []string) {
	var line string
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// remarks are what a reader must know: that the run is not complete, which trials
// are invalid, and the report's notes.
func remarks(r bench.Report) (lines []string) {
	if r.Incomplete != "" {
		lines = append(lines, "INCOMPLETE: "+r.Incomplete+". What was measured until then is shown.")
	}
	lines = append(lines, failures(r)...)
	return append(lines, r.Notes...)
}

// failures says which gates failed. Metrics of the same trials fail alike, and are
// told once.
func failures(r bench.Report) (lines []string) {
	told := map[string]bool{}
	for _, b := range blocks(r) {
		for _, row := range b.rows {
			for _, key := range sortedKeys(row.Gates) {
				gate := row.Gates[key]
				where := strings.TrimSpace(row.label() + " " + parameters(row.values))
				line := fmt.Sprintf("%s: %d of %d trials invalid by the gate %q: %s", where, gate.Failed, gate.Failed+gate.Passed, key, gate.Detail)
				if row.bound {
					line = fmt.Sprintf("%s: a lower bound: %s", where, gate.Detail)
				}
				if gate.Failed > 0 && !told[line] {
					told[line] = true
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}
